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

static constexpr double kLog2E = 1.4426950408889634;

AttentionSize tp::codegen::getAttentionSize(step::AttentionOp op) {
  ArrayRef<int64_t> q = op.getQuery().getType().getShape();
  ArrayRef<int64_t> v = op.getValue().getType().getShape();
  return {q[0] * q[2], q[1] * q[3],
          v[1],        q[4],
          v[3],        !op.getQuery().getType().getElementType().isF32()};
}

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
  isSplit = bool(op.getStatistics());
  parts = isSplit ? op.getOutput().getType().getDimSize(0) : 1;
  rowBlocks = llvm::divideCeil(rows, tiles.getRows());
}

AttentionEmitter::AttentionEmitter(OpBuilder &builder, step::AttentionOp op,
                                   const AttentionShape &shape,
                                   gpu::GPUFuncOp function)
    : builder(builder), loc(op.getLoc()), op(op), shape(shape),
      function(function), i32(builder.getI32Type()), i64(builder.getI64Type()),
      f32(builder.getF32Type()),
      element(op.getQuery().getType().getElementType()),
      elementBytes(step::getElementBytes(element)) {
  // More keys than there can be hide nothing.
  if (op.getWindow())
    window = std::min<uint64_t>(*op.getWindow(), INT32_MAX);
  findArguments();
  findPlace();
  findTiles();
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value AttentionEmitter::number(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(value));
}
Value AttentionEmitter::real(double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getF32FloatAttr(value));
}
Value AttentionEmitter::add(Value a, Value b) {
  return arith::AddIOp::create(builder, loc, a, b);
}
Value AttentionEmitter::sub(Value a, Value b) {
  return arith::SubIOp::create(builder, loc, a, b);
}
Value AttentionEmitter::mul(Value a, int64_t b) {
  return arith::MulIOp::create(builder, loc, a, number(b));
}
Value AttentionEmitter::div(Value a, int64_t b) {
  return arith::DivUIOp::create(builder, loc, a, number(b));
}
Value AttentionEmitter::rem(Value a, int64_t b) {
  return arith::RemUIOp::create(builder, loc, a, number(b));
}
Value AttentionEmitter::min(Value a, Value b) {
  return arith::MinSIOp::create(builder, loc, a, b);
}
Value AttentionEmitter::max(Value a, Value b) {
  return arith::MaxSIOp::create(builder, loc, a, b);
}
Value AttentionEmitter::less(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
}
Value AttentionEmitter::atMost(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, a, b);
}
Value AttentionEmitter::both(Value a, Value b) {
  return arith::AndIOp::create(builder, loc, a, b);
}
Value AttentionEmitter::addF(Value a, Value b) {
  return arith::AddFOp::create(builder, loc, a, b);
}
Value AttentionEmitter::mulF(Value a, Value b) {
  return arith::MulFOp::create(builder, loc, a, b);
}
Value AttentionEmitter::maxF(Value a, Value b) {
  return arith::MaxNumFOp::create(builder, loc, a, b);
}
Value AttentionEmitter::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

Value AttentionEmitter::scaled(Value score) {
  return mulF(score, real(op.getScale().convertToDouble() * kLog2E));
}

Value AttentionEmitter::exp(Value a, Value b) {
  Value scale = real(op.getScale().convertToDouble() * kLog2E);
  Value exponent = math::FmaOp::create(builder, loc, a, scale,
                                       arith::NegFOp::create(builder, loc, b));
  return math::Exp2Op::create(builder, loc, exponent,
                              arith::FastMathFlags::afn);
}

Value AttentionEmitter::shuffle(Value value, int32_t distance) {
  return gpu::ShuffleOp::create(builder, loc, value, distance, kWarp,
                                gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value AttentionEmitter::at(Value base, Value distance) {
  return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(),
                             base, ArrayRef<LLVM::GEPArg>(distance));
}
Value AttentionEmitter::at(Value base, int64_t distance) {
  return at(base, arith::ConstantOp::create(
                      builder, loc, builder.getI64IntegerAttr(distance)));
}
Value AttentionEmitter::load(Type type, Value place) {
  int64_t bytes = step::getElementBytes(getElementTypeOrSelf(type));
  if (auto vector = dyn_cast<VectorType>(type))
    bytes *= vector.getNumElements();
  return LLVM::LoadOp::create(builder, loc, type, place, bytes);
}
void AttentionEmitter::store(Value value, Value place) {
  int64_t bytes = step::getElementBytes(getElementTypeOrSelf(value.getType()));
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    bytes *= vector.getNumElements();
  LLVM::StoreOp::create(builder, loc, value, place, bytes);
}
void AttentionEmitter::ifTrue(Value condition,
                              llvm::function_ref<void()> emit) {
  auto branch = scf::IfOp::create(builder, loc, condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  emit();
}

//===----------------------------------------------------------------------===//
// What a block has
//===----------------------------------------------------------------------===//

MemRefType AttentionEmitter::typeOf(Value operand) const {
  auto argument = cast<BlockArgument>(operand);
  return cast<MemRefType>(op->getOperand(argument.getArgNumber()).getType());
}

void AttentionEmitter::findArguments() {
  unsigned next = 0;
  auto take = [&](Value operand) {
    return operand ? Value(function.getArgument(next++)) : Value();
  };
  query = take(op.getQuery());
  key = take(op.getKey());
  value = take(op.getValue());
  offset = take(op.getOffset());
  lengths = take(op.getLengths());
  mask = take(op.getMask());
  output = take(op.getOutput());
  statistics = take(op.getStatistics());
}

void AttentionEmitter::findPlace() {
  auto toNumber = [&](Value index) -> Value {
    return arith::IndexCastUIOp::create(builder, loc, i32, index);
  };
  thread = toNumber(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  Value block =
      toNumber(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  part = rem(block, shape.parts);
  block = div(block, shape.parts);
  // The last rows of a causal attention see most keys: they begin first.
  Value rowBlock =
      sub(number(shape.rowBlocks - 1), rem(block, shape.rowBlocks));
  block = div(block, shape.rowBlocks);
  head = rem(block, shape.heads);
  batch = div(block, shape.heads);
  firstRow = mul(rowBlock, shape.tiles.getRows());

  // All that the block shares: the launch says how much.
  std::string name = (function.getName() + "_shared").str();
  auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(function);
    LLVM::GlobalOp::create(builder, loc, bytes, /*isConstant=*/false,
                           LLVM::Linkage::External, name, Attribute(),
                           kSharedAlignment, kSharedSpace);
  }
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
  shared = LLVM::AddressOfOp::create(builder, loc, pointer, name);
}

Value AttentionEmitter::loadNumber(Value operand) {
  MemRefType type = typeOf(operand);
  if (type.getRank() == 0)
    return load(i32, operand);
  return load(i32,
              locate(operand, {{batch, step::Strides(type).strides[0] * 4}}));
}

void AttentionEmitter::findTiles() {
  auto lastRow =
      min(add(firstRow, shape.tiles.getRows() - 1), number(shape.rows - 1));
  Value first = div(firstRow, shape.groups);
  Value last = div(lastRow, shape.groups);
  if (offset) {
    begin = loadNumber(offset);
    first = add(first, begin);
    last = add(last, begin);
  }
  firstPosition = first;
  lastPosition = last;

  limit = number(shape.keys);
  if (lengths)
    limit = min(limit, loadNumber(lengths));
  // Not one more than the last, which may be the largest number.
  Value lastKey = add(limit, -1);
  if (op.getCausal())
    lastKey = min(lastKey, last);
  end = max(add(lastKey, 1), number(0));
  Value firstKey = number(0);
  if (window)
    firstKey = max(firstKey, sub(first, number(*window - 1)));
  firstTile = div(firstKey, shape.tiles.keys);
  endTile = div(add(end, shape.tiles.keys - 1), shape.tiles.keys);
  if (shape.parts > 1) {
    Value count = max(sub(endTile, firstTile), number(0));
    Value mine = div(add(count, shape.parts - 1), shape.parts);
    firstTile = add(firstTile, arith::MulIOp::create(builder, loc, part, mine));
    endTile = min(endTile, add(firstTile, mine));
  }
}

Value AttentionEmitter::locate(Value base,
                               ArrayRef<std::pair<Value, int64_t>> steps) {
  Value place = base;
  for (auto [index, bytes] : steps) {
    Value wide = arith::ExtUIOp::create(builder, loc, i64, index);
    Value distance = arith::ConstantOp::create(
        builder, loc, builder.getI64IntegerAttr(bytes));
    place = at(place, arith::MulIOp::create(builder, loc, wide, distance));
  }
  return place;
}

Value AttentionEmitter::getRow(Value operand, Value row) {
  MemRefType type = typeOf(operand);
  SmallVector<int64_t> strides = step::Strides(type).strides;
  for (int64_t &stride : strides)
    stride *= step::getElementBytes(type.getElementType());
  // A part has an output of its own.
  Value place = operand;
  ArrayRef<int64_t> rest = strides;
  if (rest.size() == 6) {
    place = locate(place, {{part, rest.front()}});
    rest = rest.drop_front();
  }
  place = locate(place, {{batch, rest[0]}, {head, rest[2]}});
  if (!row)
    return place;
  place = locate(place, {{div(row, shape.groups), rest[1]}});
  return shape.groups == 1 ? place
                           : locate(place, {{rem(row, shape.groups), rest[3]}});
}

Value AttentionEmitter::getPosition(Value row) {
  Value position = div(row, shape.groups);
  return begin ? add(position, begin) : position;
}

Value AttentionEmitter::isMasked(Value row, Value key) {
  SmallVector<int64_t> strides = step::Strides(typeOf(mask)).strides;
  // There may be neither this row nor this key.
  row = div(min(row, number(shape.rows - 1)), shape.groups);
  key = min(key, number(shape.keys - 1));
  Value place =
      locate(mask, {{batch, strides[0]}, {row, strides[1]}, {key, strides[2]}});
  Value byte = load(builder.getI8Type(), place);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getI8IntegerAttr(0));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, byte,
                               zero);
}

Value AttentionEmitter::hide(Value score, Value row, Value position,
                             Value key) {
  Value seen = less(key, limit);
  if (op.getCausal())
    seen = both(seen, atMost(key, position));
  if (window)
    seen = both(seen, less(sub(position, key), number(*window)));
  Value hidden = real(-std::numeric_limits<double>::infinity());
  score = select(seen, score, hidden);
  return mask ? select(isMasked(row, key), hidden, score) : score;
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
    // The key before the last row's window, if there is one, is in the tile
    // before.
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
  buffer.global = getRow(operand, Value());
  buffer.rowStride = step::Strides(type).strides[1] * elementBytes;
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
  // A power of two of threads for each row, so that a thread stays in its
  // column.
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

/// Keys and values of the next tile arrive while this one's are multiplied.
/// Each tile has two groups of copies, empty ones behind the last, so that it
/// is always the youngest but one that is waited for. Whoever has passed the
/// barrier knows that all have left the tile before, where the next one goes.
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
  // A row that has seen nothing subtracts nothing: its weights are 0.
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
    if (!shape.isSplit)
      return emit(getRow(output, row));
    // Lanes that share a row write the same.
    Value place = getRow(statistics, row);
    store(maximum, place);
    store(sum, at(place, step::Strides(typeOf(statistics)).strides[5] * 4));
    ifTrue(less(firstTile, endTile), [&] { emit(getRow(output, row)); });
  });
}
