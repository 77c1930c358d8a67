// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Codegen/RowEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tp;

SmallVector<spmd::AxisRefAttr> tp::getCoordinates(step::RowsOp rows) {
  SmallVector<spmd::AxisRefAttr> axes;
  for (auto op : rows.getBody().getOps<step::CoordinateOp>())
    if (!llvm::is_contained(axes, op.getAxis()))
      axes.push_back(op.getAxis());
  return axes;
}

namespace {

/// Columns first .. first+width-1 of the row being emitted.
struct Chunk {
  Chunk() = default;
  Chunk(Value first, int64_t width) : first(first), width(width) {}
  Value first; ///< i64
  int64_t width = 0;
  llvm::DenseMap<Value, Value> vectors; ///< What has been computed for them.
};

/// An element's place: `base` plus, per column, `stride`; or one offset per
/// column.
struct Place {
  Value base;
  int64_t stride = 0;
  Value offsets; ///< vector<width x i64>, if the stride is not one number.
};

class RowEmitter {
public:
  RowEmitter(OpBuilder &builder, step::RowsOp rows, const RowPolicy &policy)
      : builder(builder), rows(rows), policy(policy), loc(rows.getLoc()),
        columns(rows.getNumColumns()), body(rows.getBody().front()) {
    isWholeRow =
        columns < policy.vectorWidth ||
        (columns <= policy.maxWholeRow && columns % policy.vectorWidth == 0);
  }

  func::FuncOp emit(StringRef name);

private:
  // What values are: one per row or one per element, and in which phase.
  void analyse();
  bool isPoint(Value value) const { return points.contains(value); }
  unsigned getPhase(Value value) const { return phases.lookup(value); }
  bool isRowStore(step::StoreOp store) const {
    auto type = cast<MemRefType>(store.getBuffer().getType());
    return store.getIndices().empty() && columns > 1 &&
           type.getShape().back() == 1;
  }
  bool isPointStore(step::StoreOp store) const {
    return !isRowStore(store) &&
           (store.getIndices().empty() || isPoint(store.getValue()) ||
            llvm::any_of(store.getIndices(),
                         [&](Value index) { return isPoint(index); }));
  }
  unsigned getPhase(step::StoreOp store) const {
    unsigned phase = getPhase(store.getValue());
    for (Value index : store.getIndices())
      phase = std::max(phase, getPhase(index));
    return phase;
  }

  void emitRow(Value row);
  void emitUniform(Operation *op);
  void emitPhase(unsigned phase);
  void emitChunk(Chunk &chunk, unsigned phase, ArrayRef<step::ReduceOp> reduces,
                 SmallVectorImpl<Value> &sums);
  Value getVector(Value value, Chunk &chunk, unsigned phase);
  Value computeVector(Operation *op, Chunk &chunk, unsigned phase);

  Value load(step::LoadOp op, Chunk *chunk, unsigned phase);
  void store(step::StoreOp op, Chunk *chunk, unsigned phase);
  Place getPlace(Value buffer, ValueRange indices, Chunk *chunk,
                 unsigned phase);
  /// What is added to the column in `value`, if it is the column plus what is
  /// the same for the row.
  std::optional<Value> getColumnOffset(Value value);

  Value combine(step::Reduction kind, Value a, Value b);
  Value getIdentity(step::Reduction kind, Type type);
  Value reduceVector(step::Reduction kind, Value vector);

  Value number(int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value scale(Value a, int64_t factor) {
    return factor == 1 ? a
                       : arith::MulIOp::create(builder, loc, a, number(factor))
                             .getResult();
  }
  Value splat(Value scalar, int64_t width) {
    return vector::BroadcastOp::create(
        builder, loc, VectorType::get(width, scalar.getType()), scalar);
  }
  /// 0, 1, .. in the lanes.
  Value lanes(int64_t width) {
    SmallVector<int64_t> values = llvm::to_vector(llvm::seq<int64_t>(0, width));
    auto type = VectorType::get(width, builder.getI64Type());
    return arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(values)));
  }
  /// The type that an element has in memory: a byte for i1.
  Type getStored(Type element) {
    if (element.isInteger(1))
      return builder.getI8Type();
    if (auto integer = dyn_cast<IntegerType>(element))
      return builder.getIntegerType(integer.getWidth());
    return element;
  }
  Value getAddress(Value pointer, Type stored, Value offset) {
    return LLVM::GEPOp::create(builder, loc, pointer.getType(), stored, pointer,
                               ArrayRef<LLVM::GEPArg>(offset));
  }

  OpBuilder &builder;
  step::RowsOp rows;
  const RowPolicy &policy;
  Location loc;
  int64_t columns;
  Block &body;
  bool isWholeRow;

  llvm::DenseSet<Value> points;
  llvm::DenseMap<Value, unsigned> phases;
  unsigned numPhases = 1;
  llvm::DenseSet<Value> kept; ///< Dear values that a later phase needs.

  Block *entry = nullptr;
  SmallVector<Value> pointers;
  llvm::DenseMap<Attribute, Value> coordinates;
  SmallVector<Value> rowIndices; ///< All dimensions but the last.
  llvm::DenseMap<Value, Value> uniforms;
  llvm::DenseMap<Value, Value> keptRows; ///< Pointers to buffers of one row.
  Chunk wholeRow;
};

} // namespace

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

void RowEmitter::analyse() {
  unsigned last = rows.getDomain().size() - 1;
  for (Operation &op : body) {
    if (op.getNumResults() == 0)
      continue;
    Value result = op.getResult(0);
    bool isPointOp = false;
    unsigned phase = 0;
    for (Value operand : op.getOperands()) {
      isPointOp |= isPoint(operand);
      phase = std::max(phase, getPhase(operand));
    }
    if (auto load = dyn_cast<step::LoadOp>(op)) {
      if (load.getIndices().empty())
        isPointOp = step::Strides(cast<MemRefType>(load.getBuffer().getType()))
                        .strides.back() != 0;
    } else if (auto index = dyn_cast<step::IndexOp>(op)) {
      isPointOp = index.getDim() == last;
    } else if (isa<step::ReduceOp>(op)) {
      isPointOp = false;
      ++phase;
    }
    if (isPointOp)
      points.insert(result);
    phases[result] = phase;
    numPhases = std::max(numPhases, phase + 1);
  }
  auto isNeededLater = [&](Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      unsigned phase = 0;
      if (auto store = dyn_cast<step::StoreOp>(user))
        phase = getPhase(store);
      else if (auto reduce = dyn_cast<step::ReduceOp>(user))
        phase = getPhase(reduce.getValue());
      else
        phase = getPhase(user->getResult(0));
      return phase > getPhase(value);
    });
  };
  for (Operation &op : body)
    if (isa<math::MathDialect>(op.getDialect()) || isa<arith::DivFOp>(op))
      if (isPoint(op.getResult(0)) && isNeededLater(op.getResult(0)))
        kept.insert(op.getResult(0));
}

//===----------------------------------------------------------------------===//
// Function and rows
//===----------------------------------------------------------------------===//

func::FuncOp RowEmitter::emit(StringRef name) {
  analyse();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type(), i32 = builder.getI32Type();
  auto function = func::FuncOp::create(
      builder, loc, name,
      builder.getFunctionType({pointer, pointer, i64, i64}, {i32}));
  OpBuilder::InsertionGuard guard(builder);
  entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  auto loadFrom = [&](Value table, Type type, int64_t index) -> Value {
    return LLVM::LoadOp::create(builder, loc, type,
                                getAddress(table, type, number(index)));
  };
  for (unsigned i = 0; i < body.getNumArguments(); ++i)
    pointers.push_back(loadFrom(entry->getArgument(0), pointer, i));
  for (auto [i, axis] : llvm::enumerate(getCoordinates(rows)))
    coordinates[axis] = loadFrom(entry->getArgument(1), i64, i);

  auto loop = scf::ForOp::create(builder, loc, entry->getArgument(2),
                                 entry->getArgument(3), number(1));
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  func::ReturnOp::create(builder, loc, zero);
  builder.setInsertionPointToStart(loop.getBody());
  emitRow(loop.getInductionVar());
  return function;
}

void RowEmitter::emitRow(Value row) {
  ArrayRef<int64_t> sizes = rows.getDomain().drop_back();
  rowIndices.resize(sizes.size());
  for (size_t dim = sizes.size(); dim-- > 0;) {
    if (dim == 0) {
      rowIndices[0] = row;
      break;
    }
    Value size = number(sizes[dim]);
    rowIndices[dim] = arith::RemUIOp::create(builder, loc, row, size);
    row = arith::DivUIOp::create(builder, loc, row, size);
  }
  wholeRow = Chunk(number(0), columns);
  for (unsigned phase = 0; phase < numPhases; ++phase)
    emitPhase(phase);
}

void RowEmitter::emitUniform(Operation *op) {
  Value result = op->getResult(0);
  Value &uniform = uniforms[result];
  if (auto load = dyn_cast<step::LoadOp>(op)) {
    uniform = this->load(load, nullptr, 0);
  } else if (auto index = dyn_cast<step::IndexOp>(op)) {
    uniform = rowIndices[index.getDim()];
  } else if (auto coordinate = dyn_cast<step::CoordinateOp>(op)) {
    uniform = coordinates.lookup(coordinate.getAxis());
  } else {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, uniforms.lookup(operand));
    uniform = builder.clone(*op, mapping)->getResult(0);
  }
}

void RowEmitter::emitPhase(unsigned phase) {
  SmallVector<step::ReduceOp> reduces;
  bool hasPointStores = false;
  for (Operation &op : body) {
    if (auto store = dyn_cast<step::StoreOp>(op)) {
      hasPointStores |= isPointStore(store) && getPhase(store) == phase;
    } else if (auto reduce = dyn_cast<step::ReduceOp>(op)) {
      if (getPhase(reduce.getValue()) == phase)
        reduces.push_back(reduce);
    } else if (!isPoint(op.getResult(0)) &&
               getPhase(op.getResult(0)) == phase) {
      emitUniform(&op);
    }
  }
  for (auto store : body.getOps<step::StoreOp>())
    if (!isPointStore(store) && getPhase(store) == phase)
      this->store(store, nullptr, phase);
  if (reduces.empty() && !hasPointStores)
    return;

  SmallVector<Value> sums;
  if (isWholeRow) {
    emitChunk(wholeRow, phase, reduces, sums);
    for (auto [reduce, sum] : llvm::zip(reduces, sums))
      uniforms[reduce.getResult()] = reduceVector(reduce.getKind(), sum);
    return;
  }
  int64_t width = policy.vectorWidth, rest = columns % width;
  SmallVector<Value> identities;
  for (step::ReduceOp reduce : reduces)
    identities.push_back(
        splat(getIdentity(reduce.getKind(), reduce.getType()), width));
  auto loop =
      scf::ForOp::create(builder, loc, number(0), number(columns - rest),
                         number(width), identities);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Chunk chunk(loop.getInductionVar(), width);
    emitChunk(chunk, phase, reduces, sums);
    SmallVector<Value> next;
    for (auto [reduce, sum, before] :
         llvm::zip(reduces, sums, loop.getRegionIterArgs()))
      next.push_back(combine(reduce.getKind(), before, sum));
    if (!next.empty()) // else the loop has its end already
      scf::YieldOp::create(builder, loc, next);
  }
  SmallVector<Value> totals;
  for (auto [reduce, sum] : llvm::zip(reduces, loop.getResults()))
    totals.push_back(reduceVector(reduce.getKind(), sum));
  if (rest > 0) {
    Chunk chunk(number(columns - rest), rest);
    sums.clear();
    emitChunk(chunk, phase, reduces, sums);
    for (auto [total, reduce, sum] : llvm::zip(totals, reduces, sums))
      total =
          combine(reduce.getKind(), total, reduceVector(reduce.getKind(), sum));
  }
  for (auto [reduce, total] : llvm::zip(reduces, totals))
    uniforms[reduce.getResult()] = total;
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

void RowEmitter::emitChunk(Chunk &chunk, unsigned phase,
                           ArrayRef<step::ReduceOp> reduces,
                           SmallVectorImpl<Value> &sums) {
  for (step::ReduceOp reduce : reduces)
    sums.push_back(getVector(reduce.getValue(), chunk, phase));
  for (auto store : body.getOps<step::StoreOp>())
    if (isPointStore(store) && getPhase(store) == phase)
      this->store(store, &chunk, phase);
}

Value RowEmitter::getVector(Value value, Chunk &chunk, unsigned phase) {
  if (Value known = chunk.vectors.lookup(value))
    return known;
  Value vector;
  if (!isPoint(value)) {
    vector = splat(uniforms.lookup(value), chunk.width);
  } else if (Value row = keptRows.lookup(value);
             row && getPhase(value) < phase) {
    Type element = value.getType();
    vector = LLVM::LoadOp::create(builder, loc,
                                  VectorType::get(chunk.width, element),
                                  getAddress(row, element, chunk.first),
                                  element.getIntOrFloatBitWidth() / 8);
  } else {
    vector = computeVector(value.getDefiningOp(), chunk, phase);
    if (!isWholeRow && kept.contains(value) && getPhase(value) == phase) {
      Type element = value.getType();
      Value &row = keptRows[value];
      if (!row) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(entry);
        row = LLVM::AllocaOp::create(
            builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
            element, number(columns), /*alignment=*/64);
      }
      LLVM::StoreOp::create(builder, loc, vector,
                            getAddress(row, element, chunk.first),
                            element.getIntOrFloatBitWidth() / 8);
    }
  }
  chunk.vectors[value] = vector;
  return vector;
}

Value RowEmitter::computeVector(Operation *op, Chunk &chunk, unsigned phase) {
  if (auto load = dyn_cast<step::LoadOp>(op))
    return this->load(load, &chunk, phase);
  if (isa<step::IndexOp>(op))
    return arith::AddIOp::create(builder, loc, splat(chunk.first, chunk.width),
                                 lanes(chunk.width));
  OperationState state(op->getLoc(), op->getName());
  for (Value operand : op->getOperands())
    state.addOperands(getVector(operand, chunk, phase));
  state.addTypes(VectorType::get(chunk.width, op->getResult(0).getType()));
  state.addAttributes(op->getAttrs());
  return builder.create(state)->getResult(0);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

std::optional<Value> RowEmitter::getColumnOffset(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa<step::IndexOp>(op))
    return Value();
  auto sum = dyn_cast<arith::AddIOp>(op);
  if (!sum)
    return std::nullopt;
  Value column = sum.getLhs(), rest = sum.getRhs();
  if (!isPoint(column))
    std::swap(column, rest);
  if (isPoint(rest))
    return std::nullopt;
  std::optional<Value> inner = getColumnOffset(column);
  if (!inner)
    return std::nullopt;
  Value offset = uniforms.lookup(rest);
  return *inner ? add(*inner, offset) : offset;
}

Place RowEmitter::getPlace(Value buffer, ValueRange indices, Chunk *chunk,
                           unsigned phase) {
  step::Strides layout(cast<MemRefType>(buffer.getType()));
  Place place;
  place.base = number(0); // pointers are to where views begin
  auto addToBase = [&](Value index, int64_t stride) {
    if (stride != 0)
      place.base = add(place.base, scale(index, stride));
  };
  if (indices.empty()) {
    for (auto [index, stride] : llvm::zip(rowIndices, layout.strides))
      addToBase(index, stride);
    place.stride = layout.strides.back();
    if (chunk)
      addToBase(chunk->first, place.stride);
    return place;
  }
  SmallVector<std::pair<Value, int64_t>> others;
  for (auto [index, stride] : llvm::zip(indices, layout.strides)) {
    if (!isPoint(index)) {
      addToBase(uniforms.lookup(index), stride);
    } else if (std::optional<Value> offset = getColumnOffset(index)) {
      if (*offset)
        addToBase(*offset, stride);
      addToBase(chunk->first, stride);
      place.stride += stride;
    } else {
      others.push_back({index, stride});
    }
  }
  for (auto [index, stride] : others) {
    Value offsets =
        arith::MulIOp::create(builder, loc, getVector(index, *chunk, phase),
                              splat(number(stride), chunk->width));
    place.offsets = place.offsets ? add(place.offsets, offsets) : offsets;
  }
  return place;
}

/// The addresses of a chunk's elements that do not follow each other.
static Value getAddresses(OpBuilder &builder, Location loc, Value pointer,
                          Type stored, Value offsets) {
  auto type = VectorType::get(cast<VectorType>(offsets.getType()).getShape(),
                              pointer.getType());
  return LLVM::GEPOp::create(builder, loc, type, stored, pointer,
                             ArrayRef<LLVM::GEPArg>(offsets));
}

Value RowEmitter::load(step::LoadOp op, Chunk *chunk, unsigned phase) {
  auto buffer = cast<BlockArgument>(op.getBuffer());
  Type element = op.getType(), stored = getStored(element);
  unsigned bytes = step::getElementBytes(element);
  Value pointer = pointers[buffer.getArgNumber()];
  Place place = getPlace(buffer, op.getIndices(), chunk, phase);
  Value loaded;
  if (!chunk) {
    loaded = LLVM::LoadOp::create(builder, loc, stored,
                                  getAddress(pointer, stored, place.base));
  } else {
    auto type = VectorType::get(chunk->width, stored);
    if (!place.offsets && (place.stride == 1 || chunk->width == 1)) {
      loaded = LLVM::LoadOp::create(
          builder, loc, type, getAddress(pointer, stored, place.base), bytes);
    } else {
      Value offsets = splat(place.base, chunk->width);
      Value steps =
          arith::MulIOp::create(builder, loc, lanes(chunk->width),
                                splat(number(place.stride), chunk->width));
      offsets = add(offsets, steps);
      if (place.offsets)
        offsets = add(offsets, place.offsets);
      Value all = splat(
          arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)),
          chunk->width);
      loaded = LLVM::masked_gather::create(
          builder, loc, type,
          getAddresses(builder, loc, pointer, stored, offsets), all,
          ValueRange(), builder.getI32IntegerAttr(bytes));
    }
  }
  if (!element.isInteger(1))
    return loaded;
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(loaded.getType()));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, loaded,
                               zero);
}

void RowEmitter::store(step::StoreOp op, Chunk *chunk, unsigned phase) {
  auto buffer = cast<BlockArgument>(op.getBuffer());
  Type element = op.getValue().getType(), stored = getStored(element);
  unsigned bytes = step::getElementBytes(element);
  Value pointer = pointers[buffer.getArgNumber()];
  Value value = chunk ? getVector(op.getValue(), *chunk, phase)
                      : uniforms.lookup(op.getValue());
  if (element.isInteger(1)) {
    Type type = chunk ? Type(VectorType::get(chunk->width, stored)) : stored;
    value = arith::ExtUIOp::create(builder, loc, type, value);
  }
  Place place = getPlace(buffer, op.getIndices(), chunk, phase);
  bool isContiguous =
      !chunk || (!place.offsets && (place.stride == 1 || chunk->width == 1));
  if (isContiguous) {
    LLVM::StoreOp::create(builder, loc, value,
                          getAddress(pointer, stored, place.base), bytes);
    return;
  }
  Value offsets = splat(place.base, chunk->width);
  offsets =
      add(offsets,
          arith::MulIOp::create(builder, loc, lanes(chunk->width),
                                splat(number(place.stride), chunk->width)));
  if (place.offsets)
    offsets = add(offsets, place.offsets);
  Value all =
      splat(arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)),
            chunk->width);
  LLVM::masked_scatter::create(
      builder, loc, value, getAddresses(builder, loc, pointer, stored, offsets),
      all, builder.getI32IntegerAttr(bytes));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value RowEmitter::combine(step::Reduction kind, Value a, Value b) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(a.getType()));
  switch (kind) {
  case step::Reduction::Sum:
    return isFloat ? arith::AddFOp::create(builder, loc, a, b).getResult()
                   : add(a, b);
  case step::Reduction::Prod:
    return isFloat ? arith::MulFOp::create(builder, loc, a, b).getResult()
                   : arith::MulIOp::create(builder, loc, a, b).getResult();
  case step::Reduction::Max:
    return isFloat ? arith::MaximumFOp::create(builder, loc, a, b).getResult()
                   : arith::MaxSIOp::create(builder, loc, a, b).getResult();
  case step::Reduction::Min:
    return isFloat ? arith::MinimumFOp::create(builder, loc, a, b).getResult()
                   : arith::MinSIOp::create(builder, loc, a, b).getResult();
  }
  llvm_unreachable("covered switch");
}

Value RowEmitter::getIdentity(step::Reduction kind, Type type) {
  bool isMax = kind == step::Reduction::Max;
  bool isExtreme = isMax || kind == step::Reduction::Min;
  TypedAttr value;
  if (auto floatType = dyn_cast<FloatType>(type)) {
    value =
        isExtreme
            ? builder.getFloatAttr(
                  type, APFloat::getInf(floatType.getFloatSemantics(), isMax))
            : builder.getFloatAttr(type, kind == step::Reduction::Prod);
  } else {
    unsigned width = type.getIntOrFloatBitWidth();
    APInt number(width, kind == step::Reduction::Prod);
    if (isExtreme)
      number = isMax ? APInt::getSignedMinValue(width)
                     : APInt::getSignedMaxValue(width);
    value = builder.getIntegerAttr(type, number);
  }
  return arith::ConstantOp::create(builder, loc, value);
}

Value RowEmitter::reduceVector(step::Reduction kind, Value vector) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(vector.getType()));
  vector::CombiningKind combining = vector::CombiningKind::ADD;
  switch (kind) {
  case step::Reduction::Sum:
    break;
  case step::Reduction::Prod:
    combining = vector::CombiningKind::MUL;
    break;
  case step::Reduction::Max:
    combining = isFloat ? vector::CombiningKind::MAXIMUMF
                        : vector::CombiningKind::MAXSI;
    break;
  case step::Reduction::Min:
    combining = isFloat ? vector::CombiningKind::MINIMUMF
                        : vector::CombiningKind::MINSI;
    break;
  }
  // As a tree; without leave to regroup the lanes are added one by one.
  return vector::ReductionOp::create(builder, loc, combining, vector,
                                     isFloat ? arith::FastMathFlags::reassoc
                                             : arith::FastMathFlags::none);
}

func::FuncOp tp::emitRows(OpBuilder &builder, step::RowsOp rows, StringRef name,
                          const RowPolicy &policy) {
  return RowEmitter(builder, rows, policy).emit(name);
}
