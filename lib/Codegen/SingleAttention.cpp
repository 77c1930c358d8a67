// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Attention in f32, without tensor cores, which would round its operands.
//
// For the scores, a lane has one key of the tile and all rows of its warp; for
// the result, it has pieces of four features. Weights are passed between lanes
// through shared memory.

#include "AttentionKernels.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// The number of f32 elements in 16 bytes, the widest access.
static constexpr int64_t kPiece = kAccessBytes / 4;

namespace {

class SingleAttention final : AttentionEmitter {
public:
  using AttentionEmitter::AttentionEmitter;
  int64_t emit();

private:
  struct Row {
    Value row, position, query;
    Value maximum, sum;        ///< The sum covers the lane's keys.
    SmallVector<Value> output; ///< One per piece of the lane.
  };

  SmallVector<Value> getState() override;
  void setState(ValueRange values) override;
  void weigh(Value tile) override;
  void accumulate(Value tile) override;
  SmallVector<Value> getScores(Value tile);
  Value combine(Value value, bool isMaximum);
  /// The address, in shared memory, of the weight for row `row` of the warp and
  /// key `keyOfTile` of the tile.
  Value getWeightPlace(int64_t row, Value keyOfTile);

  VectorType piece = VectorType::get(kPiece, f32);
  Value lane, warp;
  SmallVector<Row> rows;
  SmallVector<Value> pieces; ///< The lane's pieces of a value.
};

} // namespace

SmallVector<Value> SingleAttention::getState() {
  SmallVector<Value> values;
  for (Row &row : rows) {
    values.append({row.maximum, row.sum});
    llvm::append_range(values, row.output);
  }
  return values;
}

void SingleAttention::setState(ValueRange values) {
  auto next = values.begin();
  for (Row &row : rows) {
    row.maximum = *next++;
    row.sum = *next++;
    for (Value &output : row.output)
      output = *next++;
  }
}

SmallVector<Value> SingleAttention::getScores(Value tile) {
  Value place = at(shared, add(getTilePlace(keyTiles, tile),
                               mul(lane, keyTiles.getPitch())));
  auto loop =
      scf::ForOp::create(builder, loc, number(0), number(keyTiles.pieces),
                         number(1), SmallVector<Value>(rows.size(), real(0)));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value index = loop.getInductionVar();
  Value keyPiece = load(piece, locate(place, {{index, kAccessBytes}}));
  SmallVector<Value> scores(loop.getRegionIterArgs());
  for (auto [row, score] : llvm::zip(rows, scores)) {
    Value queryPiece = load(piece, locate(row.query, {{index, kAccessBytes}}));
    for (int64_t i = 0; i < kPiece; ++i)
      score = math::FmaOp::create(
          builder, loc, vector::ExtractOp::create(builder, loc, queryPiece, i),
          vector::ExtractOp::create(builder, loc, keyPiece, i), score);
  }
  scf::YieldOp::create(builder, loc, scores);
  return loop.getResults();
}

Value SingleAttention::combine(Value value, bool isMaximum) {
  for (int32_t distance = kWarp / 2; distance > 0; distance /= 2) {
    Value other = shuffle(value, distance);
    value = isMaximum ? maxF(value, other) : addF(value, other);
  }
  return value;
}

Value SingleAttention::getWeightPlace(int64_t row, Value keyOfTile) {
  Value place = locate(at(shared, valueTiles.getEnd()),
                       {{warp, shape.tiles.warpRows * kWarp * 4}});
  return locate(at(place, row * kWarp * 4), {{keyOfTile, 4}});
}

void SingleAttention::weigh(Value tile) {
  Value keyIndex = add(mul(tile, shape.tiles.keys), lane);
  SmallVector<Value> scores = getScores(tile);
  scores = hideWhereNeeded(tile, scores, [&] {
    SmallVector<Value> hidden;
    for (auto [row, score] : llvm::zip(rows, scores))
      hidden.push_back(hide(score, row.row, row.position, keyIndex));
    return hidden;
  });
  for (auto [i, row] : llvm::enumerate(rows)) {
    Value maximum = maxF(row.maximum, combine(scores[i], /*isMaximum=*/true));
    auto [shift, shrink] = shiftTo(row.maximum, maximum);
    row.maximum = maximum;
    Value weight = exp(scores[i], shift);
    store(weight, getWeightPlace(i, lane));
    row.sum = addF(mulF(row.sum, shrink), weight);
    Value all = vector::BroadcastOp::create(builder, loc, piece, shrink);
    for (Value &output : row.output)
      output = mulF(output, all);
  }
}

void SingleAttention::accumulate(Value tile) {
  Value place = at(shared, getTilePlace(valueTiles, tile));
  auto loop = scf::ForOp::create(
      builder, loc, number(0), number(shape.tiles.keys), number(1), getState());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    setState(loop.getRegionIterArgs());
    Value key = loop.getInductionVar();
    Value keyPlace = locate(place, {{key, valueTiles.getPitch()}});
    SmallVector<Value> values;
    for (Value index : pieces)
      values.push_back(load(piece, locate(keyPlace, {{index, kAccessBytes}})));
    for (auto [i, row] : llvm::enumerate(rows)) {
      Value weight = vector::BroadcastOp::create(
          builder, loc, piece, load(f32, getWeightPlace(i, key)));
      for (auto [output, value] : llvm::zip(row.output, values))
        output = math::FmaOp::create(builder, loc, weight, value, output);
    }
    scf::YieldOp::create(builder, loc, getState());
  }
  setState(loop.getResults());
}

int64_t SingleAttention::emit() {
  lane = rem(thread, kWarp);
  warp = div(thread, kWarp);
  setBuffers(/*multiple=*/1);
  // A lane that has no piece of its own computes the last piece again, but does
  // not store it.
  int64_t lanePieces = llvm::divideCeil(valueTiles.pieces, kWarp);
  for (int64_t i = 0; i < lanePieces; ++i)
    pieces.push_back(min(add(lane, i * kWarp), number(valueTiles.pieces - 1)));
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(piece));
  Value warpRow = add(firstRow, mul(warp, shape.tiles.warpRows));
  for (int64_t i = 0; i < shape.tiles.warpRows; ++i) {
    Row &row = rows.emplace_back();
    row.row = add(warpRow, i);
    row.position = getPosition(row.row);
    row.query = getRow(query, min(row.row, number(shape.rows - 1)));
    row.maximum = real(-std::numeric_limits<double>::infinity());
    row.sum = real(0);
    row.output.assign(lanePieces, zero);
  }
  emitTiles();
  for (Row &row : rows) {
    Value sum = combine(row.sum, /*isMaximum=*/false);
    storeRow(row.row, scaled(row.maximum), sum, [&](Value place) {
      Value factor =
          vector::BroadcastOp::create(builder, loc, piece, getFactor(sum));
      for (int64_t i = 0; i < lanePieces; ++i) {
        Value index = add(lane, i * kWarp);
        ifTrue(less(index, number(valueTiles.pieces)), [&] {
          store(mulF(row.output[i], factor),
                locate(place, {{index, kAccessBytes}}));
        });
      }
    });
  }
  combineParts();
  return valueTiles.getEnd() + shape.tiles.getRows() * kWarp * 4;
}

int64_t tp::codegen::emitSingleAttention(OpBuilder &builder,
                                         step::AttentionOp op,
                                         const AttentionShape &shape,
                                         gpu::GPUFuncOp function) {
  return SingleAttention(builder, op, shape, function).emit();
}
