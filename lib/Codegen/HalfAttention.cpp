// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HalfAttention.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

HalfAttention::HalfAttention(OpBuilder &builder, step::AttentionOp op,
                             const AttentionShape &shape,
                             gpu::GPUFuncOp function)
    : AttentionEmitter(builder, op, shape, function) {
  Value lane = rem(thread, kWarp);
  quad = div(lane, 4);
  pair = mul(rem(lane, 4), 2);
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

void HalfAttention::beginRows() {
  Value warpRow = add(firstRow, mul(div(thread, kWarp * shape.tiles.keyWarps),
                                    shape.tiles.warpRows));
  Value zero = real(0), lowest = real(-std::numeric_limits<double>::infinity());
  for (int64_t m = 0; m < shape.tiles.warpRows / kM; ++m) {
    RowTile &tile = rowTiles.emplace_back();
    for (int64_t half = 0; half < 2; ++half) {
      tile.rows[half] = add(add(warpRow, quad), m * kM + half * 8);
      tile.positions[half] = getPosition(tile.rows[half]);
    }
    // The number of features is padded to a multiple of a product's depth, for
    // values as well as for keys.
    tile.output.assign(llvm::alignTo(shape.valueFeatures / kN, kKPieces),
                       {zero, zero, zero, zero});
    tile.maximum = {lowest, lowest};
    tile.sum = {zero, zero};
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

SmallVector<Value> HalfAttention::getScores() {
  SmallVector<Value> values;
  for (RowTile &rows : rowTiles)
    for (Sums &sums : rows.scores)
      llvm::append_range(values, sums);
  return values;
}

void HalfAttention::setScores(ValueRange values) {
  auto next = values.begin();
  for (RowTile &rows : rowTiles)
    for (Sums &sums : rows.scores)
      for (Value &score : sums)
        score = *next++;
}

SmallVector<Value> HalfAttention::getHidden(Value tile) {
  Value firstKey =
      add(add(mul(tile, shape.tiles.keys), getFirstWarpKey()), pair);
  SmallVector<Value> hidden;
  for (RowTile &rows : rowTiles)
    for (auto [n, sums] : llvm::enumerate(rows.scores))
      for (int64_t i = 0; i < 4; ++i)
        hidden.push_back(hide(sums[i], rows.rows[i / 2], rows.positions[i / 2],
                              add(firstKey, int64_t(n) * kN + i % 2)));
  return hidden;
}

void HalfAttention::takeWeights(RowTile &tile) {
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
    tile.shrink[half] = shrink;
  }
}

void HalfAttention::packWeights(RowTile &tile) {
  tile.weights.clear();
  for (size_t n = 0; n < tile.scores.size(); n += 2) {
    Sums &low = tile.scores[n], &high = tile.scores[n + 1];
    tile.weights.push_back({pack(low[0], low[1]), pack(low[2], low[3]),
                            pack(high[0], high[1]), pack(high[2], high[3])});
  }
}

void HalfAttention::shrinkOutput(RowTile &tile) {
  for (Sums &sums : tile.output)
    for (int64_t i = 0; i < 4; ++i)
      sums[i] = mulF(sums[i], tile.shrink[i / 2]);
}

Value HalfAttention::getFirstWarpKey() {
  return mul(rem(div(thread, kWarp), shape.tiles.keyWarps),
             shape.tiles.getWarpKeys());
}

void HalfAttention::storeResult(RowTile &tile) {
  for (int64_t half = 0; half < 2; ++half) {
    for (int32_t distance : {1, 2}) // the lanes that share the row
      tile.sum[half] = addF(tile.sum[half], shuffle(tile.sum[half], distance));
    tile.maximum[half] = scaled(tile.maximum[half]);
  }
  if (shape.tiles.keyWarps == 1)
    storeRows(tile);
  else
    mergeWarps(tile);
}

void HalfAttention::storeRows(RowTile &tile) {
  for (int64_t half = 0; half < 2; ++half)
    storeRow(tile.rows[half], tile.maximum[half], tile.sum[half],
             [&](Value place) {
               Value factor = getFactor(tile.sum[half]);
               int64_t bytes = getOutputBytes();
               place = locate(place, {{pair, bytes}});
               for (int64_t n = 0; n < shape.valueFeatures / kN; ++n) {
                 Value low = mulF(tile.output[n][2 * half], factor);
                 Value high = mulF(tile.output[n][2 * half + 1], factor);
                 store(shape.isSplit ? getPair(low, high) : pack(low, high),
                       at(place, n * kN * bytes));
               }
             });
}

void HalfAttention::mergeWarps(RowTile &tile) {
  // The tiles' shared memory is free when all threads are done with it. In it,
  // lanes store 16 bytes each, side by side.
  auto four = VectorType::get(4, f32);
  int64_t numSums = shape.valueFeatures / kN;
  Value lanePlace = at(shared, mul(rem(thread, kWarp), kAccessBytes));
  auto getPlace = [&](int64_t number) {
    return at(lanePlace, number * kWarp * kAccessBytes);
  };
  auto isWarp = [&](int64_t warp) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                 div(thread, kWarp), number(warp));
  };
  auto put = [&](ArrayRef<Value> values, int64_t number) {
    store(vector::FromElementsOp::create(builder, loc, four, values),
          getPlace(number));
  };
  auto get = [&](int64_t number) {
    Value all = load(four, getPlace(number));
    std::array<Value, 4> values;
    for (auto [i, value] : llvm::enumerate(values))
      value = vector::ExtractOp::create(builder, loc, all, int64_t(i));
    return values;
  };
  gpu::BarrierOp::create(builder, loc);
  ifTrue(isWarp(1), [&] {
    put({tile.maximum[0], tile.maximum[1], tile.sum[0], tile.sum[1]}, numSums);
    for (int64_t n = 0; n < numSums; ++n)
      put(tile.output[n], n);
  });
  gpu::BarrierOp::create(builder, loc);
  ifTrue(isWarp(0), [&] {
    std::array<Value, 4> other = get(numSums);
    std::array<Merged, 2> merged;
    for (int64_t half = 0; half < 2; ++half) {
      merged[half] = merge({tile.maximum[half], other[half]},
                           {tile.sum[half], other[2 + half]});
      tile.maximum[half] = merged[half].maximum;
      tile.sum[half] = merged[half].sum;
    }
    for (int64_t n = 0; n < numSums; ++n)
      for (auto [i, value] : llvm::enumerate(get(n))) {
        Value &mine = tile.output[n][i];
        ArrayRef<Value> weights = merged[i / 2].weights;
        mine = fma(weights[1], value, mulF(weights[0], mine));
      }
    storeRows(tile);
  });
}
