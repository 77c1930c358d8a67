// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Attention of 16-bit floats, on tensor cores.
//
// The unit is mma.m16n8k16: a warp multiplies 16 x 16 by 16 x 8 and has the
// operands in the registers of its lanes, as *fragments*. Lane 4 i + j has, of
// a result, the elements 2 j and 2 j + 1 of rows i and i + 8, and this is also
// what it must have of a left operand, so that weights go from the one product
// to the other where they are. Queries stay in registers; fragments of keys and
// values come from shared memory, four 8 x 8 matrices at a time.

#include "AttentionKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// Of a product: rows, columns and depth.
static constexpr int64_t kM = 16, kN = 8, kK = 16;
/// Pieces of 16 bytes in the depth of a product.
static constexpr int64_t kKPieces = 2;

namespace {

/// What a lane has of 16 x 8 sums.
using Sums = std::array<Value, 4>;
/// What a lane has of a 16 x 16 left or of two 16 x 8 right operands.
using Fragment = std::array<Value, 4>;

/// Sixteen rows of a warp. A lane has two of them, 8 apart.
struct RowTile {
  std::array<Value, 2> rows, positions;
  SmallVector<Fragment> query; ///< By 16 features.
  SmallVector<Sums> output;    ///< By 8 features.
  std::array<Value, 2> maximum, sum;
  // Of the tile of keys that is looked at.
  SmallVector<Sums> scores;      ///< By 8 keys.
  SmallVector<Fragment> weights; ///< By 16 keys.
};

class HalfAttention final : AttentionEmitter {
public:
  using AttentionEmitter::AttentionEmitter;
  int64_t emit();

private:
  void setState(ValueRange values) override;
  SmallVector<Value> getState() override;
  void weigh(Value tile) override;
  void accumulate(Value tile) override;

  void loadQuery(RowTile &tile);
  void multiplyKeys(Value tile);
  void hideScores(Value tile);
  void weigh(RowTile &tile);
  void storeResult(RowTile &tile);

  Fragment loadMatrices(Value place, bool isTransposed);
  Sums multiply(const Fragment &a, Value b0, Value b1, const Sums &sums);
  Value getPair(Value low, Value high);
  /// Two f32 as 16-bit floats in one word.
  Value pack(Value low, Value high);
  /// The word of 16-bit floats as matrix products want it.
  Value toOperand(Value word);

  Value quad, pair; ///< A lane is number `pair / 2` of its quad.
  SmallVector<RowTile> rowTiles;
  Value keyLane, valueLane; ///< What a lane adds to a matrix's place.
};

} // namespace

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Fragment HalfAttention::loadMatrices(Value place, bool isTransposed) {
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

Value HalfAttention::toOperand(Value word) {
  if (element.isBF16())
    return word;
  return LLVM::BitcastOp::create(builder, loc, VectorType::get(2, element),
                                 word);
}

Sums HalfAttention::multiply(const Fragment &a, Value b0, Value b1,
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

Value HalfAttention::getPair(Value low, Value high) {
  return vector::FromElementsOp::create(builder, loc, VectorType::get(2, f32),
                                        ValueRange{low, high});
}

Value HalfAttention::pack(Value low, Value high) {
  Value narrow = arith::TruncFOp::create(
      builder, loc, VectorType::get(2, element), getPair(low, high));
  return LLVM::BitcastOp::create(builder, loc, i32, narrow);
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

void HalfAttention::loadQuery(RowTile &tile) {
  std::array<Value, 2> places;
  for (int64_t half = 0; half < 2; ++half) {
    // Rows that there are not are computed as the last one, and not stored.
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

SmallVector<Value> HalfAttention::getState() {
  SmallVector<Value> values;
  for (RowTile &tile : rowTiles) {
    for (Sums &sums : tile.output)
      llvm::append_range(values, sums);
    llvm::append_range(values, tile.maximum);
    llvm::append_range(values, tile.sum);
  }
  return values;
}

void HalfAttention::setState(ValueRange values) {
  auto next = values.begin();
  auto take = [&](auto &into) {
    for (Value &value : into)
      value = *next++;
  };
  for (RowTile &tile : rowTiles) {
    for (Sums &sums : tile.output)
      take(sums);
    take(tile.maximum);
    take(tile.sum);
  }
}

//===----------------------------------------------------------------------===//
// One tile of keys
//===----------------------------------------------------------------------===//

void HalfAttention::multiplyKeys(Value tile) {
  Value zero = real(0);
  for (RowTile &rows : rowTiles)
    rows.scores.assign(shape.tiles.keys / kN, {zero, zero, zero, zero});
  Value place = at(shared, add(getTilePlace(keyTiles, tile), keyLane));
  for (int64_t k = 0; k < keyTiles.padded / kKPieces; ++k)
    for (int64_t n = 0; n < shape.tiles.keys / kN; n += 2) {
      // Two matrices for the first eight keys and two for the others.
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

void HalfAttention::hideScores(Value tile) {
  Value firstKey = add(mul(tile, shape.tiles.keys), pair);
  auto hideAll = [&] {
    SmallVector<Value> hidden;
    for (RowTile &rows : rowTiles)
      for (auto [n, sums] : llvm::enumerate(rows.scores))
        for (int64_t i = 0; i < 4; ++i)
          hidden.push_back(hide(sums[i], rows.rows[i / 2],
                                rows.positions[i / 2],
                                add(firstKey, int64_t(n) * kN + i % 2)));
    return hidden;
  };
  SmallVector<Value> all;
  for (RowTile &rows : rowTiles)
    for (Sums &sums : rows.scores)
      llvm::append_range(all, sums);
  all = hideWhereNeeded(tile, all, hideAll);
  auto next = all.begin();
  for (RowTile &rows : rowTiles)
    for (Sums &sums : rows.scores)
      for (Value &score : sums)
        score = *next++;
}

void HalfAttention::weigh(RowTile &tile) {
  for (int64_t half = 0; half < 2; ++half) {
    Value maximum = tile.maximum[half];
    for (Sums &sums : tile.scores)
      for (int64_t i = 0; i < 2; ++i)
        maximum = maxF(maximum, sums[2 * half + i]);
    for (int32_t distance : {1, 2}) // the lanes that share the row
      maximum = maxF(maximum, shuffle(maximum, distance));
    auto [shift, shrink] = shiftTo(tile.maximum[half], maximum);
    tile.maximum[half] = maximum;
    Value sum = mulF(tile.sum[half], shrink);
    for (Sums &sums : tile.scores)
      for (int64_t i = 0; i < 2; ++i) {
        Value &weight = sums[2 * half + i];
        weight = exp(weight, shift);
        sum = addF(sum, weight);
      }
    tile.sum[half] = sum;
    for (Sums &sums : tile.output)
      for (int64_t i = 0; i < 2; ++i)
        sums[2 * half + i] = mulF(sums[2 * half + i], shrink);
  }
  tile.weights.clear();
  for (size_t n = 0; n < tile.scores.size(); n += 2) {
    Sums &low = tile.scores[n], &high = tile.scores[n + 1];
    tile.weights.push_back({pack(low[0], low[1]), pack(low[2], low[3]),
                            pack(high[0], high[1]), pack(high[2], high[3])});
  }
}

void HalfAttention::weigh(Value tile) {
  multiplyKeys(tile);
  hideScores(tile);
  for (RowTile &rows : rowTiles)
    weigh(rows);
}

void HalfAttention::accumulate(Value tile) {
  Value place = at(shared, add(getTilePlace(valueTiles, tile), valueLane));
  for (int64_t k = 0; k < shape.tiles.keys / kK; ++k)
    for (int64_t n = 0; n < valueTiles.padded; n += 2) {
      // Values lie key by key: transposed, a column has its keys together.
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

void HalfAttention::storeResult(RowTile &tile) {
  for (int64_t half = 0; half < 2; ++half) {
    Value sum = tile.sum[half], row = tile.rows[half];
    for (int32_t distance : {1, 2})
      sum = addF(sum, shuffle(sum, distance));
    storeRow(row, scaled(tile.maximum[half]), sum, [&](Value place) {
      Value factor = getFactor(sum);
      int64_t bytes = getOutputBytes();
      place = locate(place, {{pair, bytes}});
      for (int64_t n = 0; n < valueTiles.pieces; ++n) {
        Value low = mulF(tile.output[n][2 * half], factor);
        Value high = mulF(tile.output[n][2 * half + 1], factor);
        store(shape.isSplit ? getPair(low, high) : pack(low, high),
              at(place, n * kN * bytes));
      }
    });
  }
}

int64_t HalfAttention::emit() {
  Value lane = rem(thread, kWarp);
  quad = div(lane, 4);
  pair = mul(rem(lane, 4), 2);
  setBuffers(kKPieces);

  // Lanes 8 m to 8 m + 7 have the rows of matrix m: for keys, the features come
  // first, for values the keys do.
  Value matrix = div(lane, 8), row = rem(lane, 8);
  auto getPlace = [&](const TileBuffer &buffer, Value eight, Value piece) {
    return add(mul(add(row, mul(eight, 8)), buffer.getPitch()),
               mul(piece, kAccessBytes));
  };
  keyLane = getPlace(keyTiles, div(matrix, 2), rem(matrix, 2));
  valueLane = getPlace(valueTiles, rem(matrix, 2), div(matrix, 2));

  Value warpRow = add(firstRow, mul(div(thread, kWarp), shape.tiles.warpRows));
  Value zero = real(0), lowest = real(-std::numeric_limits<double>::infinity());
  for (int64_t m = 0; m < shape.tiles.warpRows / kM; ++m) {
    RowTile &tile = rowTiles.emplace_back();
    for (int64_t half = 0; half < 2; ++half) {
      tile.rows[half] = add(add(warpRow, quad), m * kM + half * 8);
      tile.positions[half] = getPosition(tile.rows[half]);
    }
    loadQuery(tile);
    tile.output.assign(valueTiles.padded, {zero, zero, zero, zero});
    tile.maximum = {lowest, lowest};
    tile.sum = {zero, zero};
  }

  emitTiles();
  for (RowTile &tile : rowTiles)
    storeResult(tile);
  return valueTiles.getEnd();
}

int64_t tp::codegen::emitHalfAttention(OpBuilder &builder, step::AttentionOp op,
                                       const AttentionShape &shape,
                                       gpu::GPUFuncOp function) {
  return HalfAttention(builder, op, shape, function).emit();
}
