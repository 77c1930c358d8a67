// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AttentionEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// The natural logarithm of 2.
static constexpr double kLogE2 = 0.6931471805599453;

AttentionShape::AttentionShape(step::AttentionOp op,
                               const AttentionTiles &tiles)
    : tiles(tiles) {
  ArrayRef<int64_t> q = op.getQuery().getType().getShape();
  batch = q[0];
  queries = q[1];
  heads = q[2];
  groups = q[3];
  features = q[4];
  keys = op.getKey().getType().getDimSize(1);
  valueFeatures = op.getValue().getType().getDimSize(3);
  rows = queries * groups;
  isSplit = bool(op.getPartial());
  parts = isSplit ? op.getPartial().getType().getDimSize(0) : 1;
  rowBlocks = llvm::divideCeil(rows, tiles.getRows());
}

AttentionEmitter::AttentionEmitter(OpBuilder &builder, step::AttentionOp op,
                                   const AttentionShape &shape,
                                   gpu::GPUFuncOp function)
    : AttentionBlock(builder, op, function), shape(shape),
      output(getArgument(op.getOutput())),
      partial(getArgument(op.getPartial())),
      statistics(getArgument(op.getStatistics())),
      counters(getArgument(op.getCounters())),
      logsumexp(getArgument(op.getLogsumexp())) {
  findPlace();
  findTiles();
}

Value AttentionEmitter::scaled(Value score) { return mulF(score, getScale()); }

Value AttentionEmitter::exp(Value a, Value b) {
  return exp2(fma(a, getScale(), arith::NegFOp::create(builder, loc, b)));
}

//===----------------------------------------------------------------------===//
// The work of a block
//===----------------------------------------------------------------------===//

void AttentionEmitter::findPlace() {
  Value block = arith::IndexCastUIOp::create(
      builder, loc, i32,
      gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  part = rem(block, shape.parts);
  block = div(block, shape.parts);
  // In causal attention the last rows attend to the most keys: start with them.
  Value rowBlock =
      sub(number(shape.rowBlocks - 1), rem(block, shape.rowBlocks));
  beginHead(div(block, shape.rowBlocks));
  firstRow = mul(rowBlock, shape.tiles.getRows());
}

void AttentionEmitter::findTiles() {
  auto lastRow =
      min(add(firstRow, shape.tiles.getRows() - 1), number(shape.rows - 1));
  firstPosition = getPosition(firstRow);
  lastPosition = getPosition(lastRow);

  // Do not compute the last position plus one, which may overflow.
  Value lastKey = add(limit, -1);
  if (op.getCausal())
    lastKey = min(lastKey, lastPosition);
  end = max(add(lastKey, 1), number(0));
  Value firstKey = number(0);
  if (window)
    firstKey = max(firstKey, sub(firstPosition, number(*window - 1)));
  firstTile = div(firstKey, shape.tiles.keys);
  endTile = div(add(end, shape.tiles.keys - 1), shape.tiles.keys);
  if (shape.parts > 1) {
    Value count = max(sub(endTile, firstTile), number(0));
    Value mine = div(add(count, shape.parts - 1), shape.parts);
    firstTile = add(firstTile, arith::MulIOp::create(builder, loc, part, mine));
    endTile = min(endTile, add(firstTile, mine));
  }
}

Value AttentionEmitter::getPartRow(Value argument, Value row) {
  // Parts are stacked along an additional first dimension.
  auto getStep = [&](Value index, unsigned dim) {
    return std::pair(index, getStride(argument, 1 + dim));
  };
  Value place = locate(argument, {getStep(batch, 0), getStep(head, 2),
                                  getStep(div(row, groups), 1)});
  return groups == 1 ? place : locate(place, {getStep(rem(row, groups), 3)});
}

Value AttentionEmitter::mayHide(Value tile) {
  Value first = mul(tile, shape.tiles.keys);
  Value last = add(first, shape.tiles.keys - 1);
  Value all = less(last, limit);
  if (op.getCausal())
    all = both(all, atMost(last, firstPosition));
  if (window)
    all = both(all, less(sub(lastPosition, first), number(*window)));
  return arith::XOrIOp::create(
      builder, loc, all,
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)));
}

std::pair<Value, Value> AttentionEmitter::getWholeTiles() {
  Value keys = limit;
  if (op.getCausal())
    keys = min(keys, add(firstPosition, 1));
  Value first = firstTile;
  if (window) {
    // The window hides all keys up to key `before` from the last row. So the
    // first whole tile is the one after the tile of key `before`.
    Value before = sub(lastPosition, number(*window));
    Value tile = add(div(max(before, number(0)), shape.tiles.keys), 1);
    tile = select(less(before, number(0)), number(0), tile);
    first = min(max(first, tile), endTile);
  }
  Value last = min(div(max(keys, number(0)), shape.tiles.keys), endTile);
  return {first, max(first, last)};
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

TileBuffer AttentionEmitter::getTileBuffer(Value operand, int64_t multiple,
                                           int64_t begin) {
  MemRefType type = typeOf(operand);
  TileBuffer buffer;
  buffer.global = getHead(operand);
  buffer.rowStride = getStride(operand, 1);
  buffer.pieces = type.getShape().back() * elementBytes / kAccessBytes;
  buffer.padded = llvm::alignTo(buffer.pieces, multiple);
  buffer.keys = shape.tiles.keys;
  buffer.begin = begin;
  return buffer;
}

Value AttentionEmitter::getTilePlace(const TileBuffer &buffer, Value tile) {
  return add(mul(rem(tile, 2), buffer.getTileBytes()), buffer.begin);
}

void AttentionEmitter::copyTile(const TileBuffer &buffer, Value tile) {
  // Use a power-of-two number of threads per row, so that each thread stays in
  // one column.
  int64_t threads = shape.tiles.warps * kWarp;
  auto width = std::min(int64_t(llvm::PowerOf2Ceil(buffer.padded)), threads);
  int64_t rowsAtOnce = threads / width;
  Value row = div(thread, width), firstColumn = rem(thread, width);
  Value firstKey = add(mul(tile, buffer.keys), row);
  Value to = add(add(getTilePlace(buffer, tile), mul(row, buffer.getPitch())),
                 mul(firstColumn, kAccessBytes));
  Value from = locate(buffer.global, {{firstKey, buffer.rowStride},
                                      {firstColumn, kAccessBytes}});
  auto copyPiece = [&](int64_t row, int64_t column) {
    Value exists = less(add(firstKey, row), end);
    if (buffer.pieces != buffer.padded)
      exists =
          both(exists, less(add(firstColumn, column), number(buffer.pieces)));
    NVVM::CpAsyncOp::create(
        builder, loc,
        at(shared, add(to, row * buffer.getPitch() + column * kAccessBytes)),
        at(from, row * buffer.rowStride + column * kAccessBytes), kAccessBytes,
        NVVM::LoadCacheModifierKind::CG,
        select(exists, number(kAccessBytes), number(0)));
  };
  for (int64_t rows = 0; rows < buffer.keys; rows += rowsAtOnce)
    for (int64_t column = 0; column < buffer.padded; column += width) {
      Value isMine;
      if (column + width > buffer.padded)
        isMine = less(add(firstColumn, column), number(buffer.padded));
      if (rows + rowsAtOnce > buffer.keys) {
        Value isInside = less(add(row, rows), number(buffer.keys));
        isMine = isMine ? both(isMine, isInside) : isInside;
      }
      if (isMine)
        ifTrue(isMine, [&] { copyPiece(rows, column); });
      else
        copyPiece(rows, column);
    }
}

void AttentionEmitter::beginCopy(const TileBuffer &buffer, Value tile) {
  ifTrue(less(tile, endTile), [&] { copyTile(buffer, tile); });
  NVVM::CpAsyncCommitGroupOp::create(builder, loc);
}

void AttentionEmitter::awaitCopies() {
  NVVM::CpAsyncWaitGroupOp::create(builder, loc, 1);
  gpu::BarrierOp::create(builder, loc);
}

void AttentionEmitter::setBuffers(int64_t multiple) {
  keyTiles = getTileBuffer(key, multiple, /*begin=*/0);
  valueTiles = getTileBuffer(value, multiple, keyTiles.getEnd());
}

/// While tile i is processed, the keys and values of tile i + 1 are copied: the
/// keys are one group of copies, the values another. After the last tile the
/// groups are empty, so each wait can leave exactly one group pending, the most
/// recent one. Tile i + 1 is stored in the place of tile i - 1: after the
/// barrier, all threads have finished with tile i - 1.
void AttentionEmitter::emitTiles() {
  beginCopy(keyTiles, firstTile);
  beginCopy(valueTiles, firstTile);
  auto loop = scf::ForOp::create(builder, loc, firstTile, endTile, number(1),
                                 getState());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    setState(loop.getRegionIterArgs());
    Value tile = loop.getInductionVar(), next = add(tile, 1);
    awaitCopies();
    beginCopy(keyTiles, next);
    weigh(tile);
    awaitCopies();
    beginCopy(valueTiles, next);
    accumulate(tile);
    scf::YieldOp::create(builder, loc, getState());
  }
  setState(loop.getResults());
}

SmallVector<Value> AttentionEmitter::hideWhereNeeded(
    Value tile, ValueRange scores,
    llvm::function_ref<SmallVector<Value>()> hideAll) {
  if (mask)
    return hideAll();
  auto branch = scf::IfOp::create(builder, loc, scores.getTypes(),
                                  mayHide(tile), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  scf::YieldOp::create(builder, loc, hideAll());
  builder.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(builder, loc, scores);
  return branch.getResults();
}

std::pair<Value, Value> AttentionEmitter::shiftTo(Value before, Value maximum) {
  // For a row that has attended to no key, subtract 0: its weights become 0.
  Value isEmpty =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, maximum,
                            real(-std::numeric_limits<double>::infinity()));
  Value shift = scaled(select(isEmpty, real(0), maximum));
  return {shift, exp(before, shift)};
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Value AttentionEmitter::getFactor(Value sum) {
  Value one = real(1), zero = real(0);
  if (shape.isSplit)
    return one;
  Value isEmpty =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, sum, zero);
  return arith::DivFOp::create(builder, loc, one, select(isEmpty, one, sum));
}

void AttentionEmitter::storeRow(Value row, Value maximum, Value sum,
                                llvm::function_ref<void(Value)> emit) {
  ifTrue(less(row, number(shape.rows)), [&] {
    // Lanes that share a row write the same value.
    if (logsumexp)
      store(getLogSumExp(maximum, sum), getRow(logsumexp, row));
    if (!shape.isSplit)
      return emit(getRow(output, row));
    auto getPlace = [&](Value argument) {
      return locate(getPartRow(argument, row),
                    {{part, getStride(argument, 0)}});
    };
    Value place = getPlace(statistics);
    store(maximum, place);
    store(sum, at(place, getStride(statistics, 5)));
    emit(getPlace(partial)); // zeros if the row attends to no key
  });
}

Value AttentionEmitter::getLogSumExp(Value maximum, Value sum) {
  // For a row that attends to no key, the result is 0.
  Value isEmpty = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                        sum, real(0));
  Value log = math::Log2Op::create(builder, loc, select(isEmpty, real(1), sum));
  return mulF(addF(select(isEmpty, real(0), maximum), log), real(kLogE2));
}
