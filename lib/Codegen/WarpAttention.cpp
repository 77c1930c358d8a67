// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Attention in 16-bit floats by warps, on the tensor cores of all chips.
//
// The instruction is mma.m16n8k16: a warp multiplies 16 x 16 by 16 x 8, with
// operands in the registers of its lanes. Queries stay in registers; fragments
// of keys and values are loaded from shared memory, four 8 x 8 matrices at a
// time.

#include "AttentionKernels.h"
#include "HalfAttention.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

namespace {

class WarpAttention final : HalfAttention {
public:
  using HalfAttention::HalfAttention;
  int64_t emit();

private:
  void weigh(Value tile) override;
  void accumulate(Value tile) override;

  void loadQuery(RowTile &tile);
  void multiplyKeys(Value tile);

  Fragment loadMatrices(Value place, bool isTransposed);
  Sums multiply(const Fragment &a, Value b0, Value b1, const Sums &sums);
  /// Converts a word of 16-bit floats to the type that matrix products take.
  Value toOperand(Value word);

  Value keyLane, valueLane; ///< A lane's offset in matrices.
};

} // namespace

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Fragment WarpAttention::loadMatrices(Value place, bool isTransposed) {
  SmallVector<Type> words(4, i32);
  auto layout = isTransposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  Value all = NVVM::LdMatrixOp::create(
      builder, loc,
      LLVM::LLVMStructType::getLiteral(builder.getContext(), words), place, 4,
      layout, NVVM::LdStMatrixShapeAttr::get(builder.getContext(), 8, 8),
      NVVM::LdStMatrixEltType::B16);
  Fragment fragment;
  for (int64_t i = 0; i < 4; ++i)
    fragment[i] = LLVM::ExtractValueOp::create(builder, loc, all, i);
  return fragment;
}

Value WarpAttention::toOperand(Value word) {
  if (element.isBF16())
    return word;
  return LLVM::BitcastOp::create(builder, loc, VectorType::get(2, element),
                                 word);
}

Sums WarpAttention::multiply(const Fragment &a, Value b0, Value b1,
                             const Sums &sums) {
  auto type = element.isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  SmallVector<Type> floats(4, f32);
  SmallVector<Value> left, right{toOperand(b0), toOperand(b1)};
  for (Value word : a)
    left.push_back(toOperand(word));
  Value all = NVVM::MmaOp::create(
      builder, loc,
      LLVM::LLVMStructType::getLiteral(builder.getContext(), floats), left,
      right, ArrayRef<Value>(sums), {kM, kN, kK}, std::nullopt, std::nullopt,
      std::array{type, type},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  Sums result;
  for (int64_t i = 0; i < 4; ++i)
    result[i] = LLVM::ExtractValueOp::create(builder, loc, all, i);
  return result;
}

//===----------------------------------------------------------------------===//
// One tile of keys
//===----------------------------------------------------------------------===//

void WarpAttention::loadQuery(RowTile &tile) {
  std::array<Value, 2> places;
  for (int64_t half = 0; half < 2; ++half) {
    // Rows past the end read the last row; their results are not stored.
    Value row = min(tile.rows[half], number(shape.rows - 1));
    places[half] = locate(getRow(query, row), {{pair, elementBytes}});
  }
  for (int64_t k = 0; k < keyTiles.padded / kKPieces; ++k) {
    Fragment &fragment = tile.query.emplace_back();
    for (int64_t i = 0; i < 4; ++i) {
      int64_t piece = k * kKPieces + i / 2;
      fragment[i] = piece < keyTiles.pieces
                        ? load(i32, at(places[i % 2], piece * kAccessBytes))
                        : number(0);
    }
  }
}

void WarpAttention::multiplyKeys(Value tile) {
  Value zero = real(0);
  for (RowTile &rows : rowTiles)
    rows.scores.assign(shape.tiles.getWarpKeys() / kN,
                       {zero, zero, zero, zero});
  Value place = at(shared, add(getTilePlace(keyTiles, tile), keyLane));
  for (int64_t k = 0; k < keyTiles.padded / kKPieces; ++k)
    for (int64_t n = 0; n < shape.tiles.getWarpKeys() / kN; n += 2) {
      // Four 8 x 8 matrices: two for the first eight keys, two for the others.
      Fragment keys = loadMatrices(
          at(place, n * kN * keyTiles.getPitch() + k * kKPieces * kAccessBytes),
          /*isTransposed=*/false);
      for (RowTile &rows : rowTiles) {
        Sums &low = rows.scores[n], &high = rows.scores[n + 1];
        low = multiply(rows.query[k], keys[0], keys[1], low);
        high = multiply(rows.query[k], keys[2], keys[3], high);
      }
    }
}

void WarpAttention::weigh(Value tile) {
  multiplyKeys(tile);
  setScores(
      hideWhereNeeded(tile, getScores(), [&] { return getHidden(tile); }));
  for (RowTile &rows : rowTiles) {
    takeWeights(rows);
    packWeights(rows);
    shrinkOutput(rows);
  }
}

void WarpAttention::accumulate(Value tile) {
  Value place = at(shared, add(getTilePlace(valueTiles, tile), valueLane));
  for (int64_t k = 0; k < shape.tiles.getWarpKeys() / kK; ++k)
    for (int64_t n = 0; n < valueTiles.padded; n += 2) {
      // Values are stored key by key; after transposing, the keys of a column
      // are together.
      Fragment values = loadMatrices(
          at(place, k * kK * valueTiles.getPitch() + n * kAccessBytes),
          /*isTransposed=*/true);
      for (RowTile &rows : rowTiles) {
        Sums &low = rows.output[n], &high = rows.output[n + 1];
        low = multiply(rows.weights[k], values[0], values[1], low);
        high = multiply(rows.weights[k], values[2], values[3], high);
      }
    }
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

int64_t WarpAttention::emit() {
  setBuffers(kKPieces);

  // Lanes 8 m to 8 m + 7 give the row addresses of matrix m. Matrices 0 and 1
  // of keys have different features; matrices 0 and 1 of values have different
  // keys.
  Value lane = rem(thread, kWarp);
  Value matrix = div(lane, 8), row = rem(lane, 8);
  Value firstKey = getFirstWarpKey();
  auto getPlace = [&](const TileBuffer &buffer, Value eight, Value piece) {
    Value key = add(firstKey, add(row, mul(eight, 8)));
    return add(mul(key, buffer.getPitch()), mul(piece, kAccessBytes));
  };
  keyLane = getPlace(keyTiles, div(matrix, 2), rem(matrix, 2));
  valueLane = getPlace(valueTiles, rem(matrix, 2), div(matrix, 2));

  beginRows();
  for (RowTile &tile : rowTiles)
    loadQuery(tile);
  emitTiles();
  for (RowTile &tile : rowTiles)
    storeResult(tile);
  combineParts();
  return valueTiles.getEnd();
}

int64_t tp::codegen::emitWarpAttention(OpBuilder &builder, step::AttentionOp op,
                                       const AttentionShape &shape,
                                       gpu::GPUFuncOp function) {
  return WarpAttention(builder, op, shape, function).emit();
}
