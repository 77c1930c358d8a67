// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

namespace {

/// The position of an element: `base` plus `stride` per column, or one offset
/// per column.
struct Place {
  Value base;
  int64_t stride = 0;
  int64_t alignment = 1; ///< In bytes.
  Value offsets; ///< vector<width x i64>, if the stride is not one number.

  bool isContiguous(const Chunk &chunk) const {
    return !offsets && (stride == 1 || chunk.width == 1);
  }
};

class RowEmitter {
public:
  RowEmitter(OpBuilder &builder, step::RowsOp rows, const RowAnalysis &analysis,
             const RowContext &context, RowWalk walk, RowTarget &target)
      : builder(builder), rows(rows), analysis(analysis), context(context),
        walk(std::move(walk)), target(target), loc(rows.getLoc()),
        body(rows.getBody().front()) {}

  void emit();

private:
  bool isPoint(Value value) const { return analysis.isPoint(value); }
  void emitUniform(Operation *op);
  void emitPhase(unsigned phase);
  /// The loop over whole vectors of a row. Returns its reductions, as vectors.
  SmallVector<Value> emitLoop(unsigned phase, ArrayRef<step::ReduceOp> reduces);
  void emitStores(Chunk &chunk, unsigned phase);
  SmallVector<Value> emitReductions(Chunk &chunk, unsigned phase,
                                    ArrayRef<step::ReduceOp> reduces);
  Value getVector(Value value, Chunk &chunk, unsigned phase);
  Value computeVector(Operation *op, Chunk &chunk, unsigned phase);
  Value getInverseOfSum(Operation *op);

  Value load(step::LoadOp op, Chunk *chunk, unsigned phase);
  void store(step::StoreOp op, Chunk *chunk, unsigned phase);
  Place getPlace(Value buffer, ValueRange indices, Chunk *chunk,
                 unsigned phase);
  Value getAddresses(Value pointer, Type stored, const Place &place,
                     const Chunk &chunk);
  /// If `value` is the column plus a number that is the same for the whole row,
  /// returns that number.
  std::optional<Value> getColumnOffset(Value value);

  Value constant(TypedAttr value) {
    return arith::ConstantOp::create(builder, loc, value);
  }
  Value number(int64_t value) {
    return constant(builder.getI64IntegerAttr(value));
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
  /// The vector 0, 1, ...
  Value lanes(int64_t width) {
    SmallVector<int64_t> values = llvm::to_vector(llvm::seq<int64_t>(0, width));
    auto type = VectorType::get(width, builder.getI64Type());
    return constant(DenseElementsAttr::get(type, ArrayRef<int64_t>(values)));
  }
  /// A mask that selects the columns that belong to the chunk if `onlyOwn` is
  /// true, and all columns otherwise.
  Value getMask(const Chunk &chunk, bool onlyOwn) {
    if (onlyOwn && chunk.own && isa<VectorType>(chunk.own.getType()))
      return chunk.own;
    return constant(DenseElementsAttr::get(
        VectorType::get(chunk.width, builder.getI1Type()), true));
  }
  /// The type in which an element is stored: a byte for i1, and integers for
  /// narrow floats, since code generators cannot move vectors of narrow floats
  /// in some widths.
  Type getStored(Type element) {
    if (element.isInteger(1))
      return builder.getI8Type();
    if (isa<IntegerType>(element) || element.getIntOrFloatBitWidth() < 32)
      return builder.getIntegerType(element.getIntOrFloatBitWidth());
    return element;
  }
  Value getAddress(Value pointer, Type stored, Value offset) {
    return LLVM::GEPOp::create(builder, loc, pointer.getType(), stored, pointer,
                               ArrayRef<LLVM::GEPArg>(offset));
  }

  OpBuilder &builder;
  step::RowsOp rows;
  const RowAnalysis &analysis;
  const RowContext &context;
  RowWalk walk;
  RowTarget &target;
  Location loc;
  Block &body;

  SmallVector<Value> rowIndices; ///< All dimensions but the last.
  llvm::DenseMap<Value, Value> uniforms;
  llvm::DenseMap<Value, Value> keptRows; ///< Pointers; null: recompute.
};

} // namespace

//===----------------------------------------------------------------------===//
// Rows and phases
//===----------------------------------------------------------------------===//

void RowEmitter::emit() {
  ArrayRef<int64_t> sizes = rows.getDomain().drop_back();
  Value row = context.row;
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
  for (unsigned phase = 0; phase < analysis.getNumPhases(); ++phase)
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
    uniform = context.scalars.lookup(coordinate.getAxis());
  } else if (auto counter = dyn_cast<step::CounterOp>(op)) {
    uniform = context.scalars.lookup(counter.getLoopAttr());
  } else {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, uniforms.lookup(operand));
    uniform = builder.clone(*op, mapping)->getResult(0);
  }
}

SmallVector<Value> RowEmitter::emitLoop(unsigned phase,
                                        ArrayRef<step::ReduceOp> reduces) {
  SmallVector<Value> identities;
  for (step::ReduceOp reduce : reduces)
    identities.push_back(
        getIdentity(builder, loc, reduce.getKind(),
                    VectorType::get(walk.width, reduce.getType())));
  auto loop = scf::ForOp::create(builder, loc, walk.begin, walk.end, walk.step,
                                 identities);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Chunk chunk;
  chunk.first = loop.getInductionVar();
  chunk.width = chunk.alignment = walk.width;
  SmallVector<Value> sums = emitReductions(chunk, phase, reduces);
  for (auto [sum, reduce, before] :
       llvm::zip(sums, reduces, loop.getRegionIterArgs()))
    sum = combineValues(builder, loc, step::ReduceOp(reduce).getKind(), before,
                        sum);
  emitStores(chunk, phase);
  if (!sums.empty()) // otherwise the loop has a terminator
    scf::YieldOp::create(builder, loc, sums);
  return SmallVector<Value>(loop.getResults());
}

void RowEmitter::emitPhase(unsigned phase) {
  SmallVector<step::ReduceOp> reduces;
  bool hasPointStores = false;
  SmallVector<step::StoreOp> rowStores;
  for (Operation &op : body) {
    if (auto store = dyn_cast<step::StoreOp>(op)) {
      if (analysis.getPhase(store) != phase)
        continue;
      if (analysis.isPointStore(store))
        hasPointStores = true;
      else
        rowStores.push_back(store);
    } else if (auto reduce = dyn_cast<step::ReduceOp>(op)) {
      if (analysis.getPhase(reduce.getValue()) == phase)
        reduces.push_back(reduce);
    } else if (!isPoint(op.getResult(0)) &&
               analysis.getPhase(op.getResult(0)) == phase) {
      emitUniform(&op);
    }
  }
  if (!rowStores.empty())
    target.emitOnce(builder, [&] {
      for (step::StoreOp store : rowStores)
        this->store(store, nullptr, phase);
    });
  if (reduces.empty() && !hasPointStores)
    return;

  // The reductions so far: vectors for the resident chunks, or else scalars for
  // the loop and `rest`.
  SmallVector<Value> totals;
  auto addToTotals = [&](ValueRange sums) {
    if (totals.empty())
      return totals.append(sums.begin(), sums.end());
    for (auto [total, reduce, sum] : llvm::zip(totals, reduces, sums))
      total = combineValues(builder, loc, reduce.getKind(), total, sum);
  };
  auto reduceVectors = [&](ValueRange vectors) {
    SmallVector<Value> scalars;
    for (auto [reduce, vector] : llvm::zip(reduces, vectors))
      scalars.push_back(reduceVector(builder, loc, reduce.getKind(), vector));
    return scalars;
  };
  if (!walk.resident.empty()) {
    for (Chunk &chunk : walk.resident) {
      addToTotals(emitReductions(chunk, phase, reduces));
      emitStores(chunk, phase);
    }
    totals = reduceVectors(totals);
  } else {
    totals = reduceVectors(emitLoop(phase, reduces));
    for (const Chunk &place : walk.rest) {
      Chunk chunk = place; // copy, as nothing stays in registers
      addToTotals(reduceVectors(emitReductions(chunk, phase, reduces)));
      emitStores(chunk, phase);
    }
  }
  for (auto [reduce, total] : llvm::zip(reduces, totals))
    uniforms[reduce.getResult()] =
        target.combineThreads(builder, reduce.getKind(), total);
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

SmallVector<Value>
RowEmitter::emitReductions(Chunk &chunk, unsigned phase,
                           ArrayRef<step::ReduceOp> reduces) {
  SmallVector<Value> sums;
  for (step::ReduceOp reduce : reduces) {
    Value vector = getVector(reduce.getValue(), chunk, phase);
    if (chunk.own)
      vector = arith::SelectOp::create(
          builder, loc, chunk.own, vector,
          getIdentity(builder, loc, reduce.getKind(), vector.getType()));
    sums.push_back(vector);
  }
  return sums;
}

/// A store may overwrite an element that another op loads at the same point, so
/// all values are loaded first.
void RowEmitter::emitStores(Chunk &chunk, unsigned phase) {
  auto isOurs = [&](step::StoreOp store) {
    return analysis.isPointStore(store) && analysis.getPhase(store) == phase;
  };
  auto stores = llvm::make_filter_range(body.getOps<step::StoreOp>(), isOurs);
  for (step::StoreOp store : stores) {
    (void)getVector(store.getValue(), chunk, phase);
    for (Value index : store.getIndices())
      if (isPoint(index))
        (void)getVector(index, chunk, phase);
  }
  for (step::StoreOp store : stores)
    this->store(store, &chunk, phase);
}

Value RowEmitter::getVector(Value value, Chunk &chunk, unsigned phase) {
  if (Value known = chunk.vectors.lookup(value))
    return known;
  Value vector;
  Type element = value.getType();
  unsigned bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  if (!isPoint(value)) {
    vector = splat(uniforms.lookup(value), chunk.width);
  } else if (Value row = keptRows.lookup(value);
             row && analysis.getPhase(value) < phase) {
    vector = LLVM::LoadOp::create(builder, loc,
                                  VectorType::get(chunk.width, element),
                                  getAddress(row, element, chunk.first), bytes);
  } else {
    vector = computeVector(value.getDefiningOp(), chunk, phase);
    if (walk.resident.empty() && analysis.isWorthKeeping(value) &&
        analysis.getPhase(value) == phase) {
      auto [it, isNew] = keptRows.try_emplace(value);
      if (isNew)
        it->second = target.allocateRow(builder, element);
      if (it->second)
        LLVM::StoreOp::create(builder, loc, vector,
                              getAddress(it->second, element, chunk.first),
                              bytes);
    }
  }
  chunk.vectors[value] = vector;
  return vector;
}

Value RowEmitter::computeVector(Operation *op, Chunk &chunk, unsigned phase) {
  if (auto load = dyn_cast<step::LoadOp>(op))
    return this->load(load, &chunk, phase);
  if (isa<step::IndexOp>(op))
    return add(splat(chunk.first, chunk.width), lanes(chunk.width));
  if (Value inverse = getInverseOfSum(op))
    return arith::MulFOp::create(builder, op->getLoc(),
                                 getVector(op->getOperand(0), chunk, phase),
                                 splat(inverse, chunk.width));
  OperationState state(op->getLoc(), op->getName());
  for (Value operand : op->getOperands())
    state.addOperands(getVector(operand, chunk, phase));
  state.addTypes(VectorType::get(chunk.width, op->getResult(0).getType()));
  state.addAttributes(op->getAttrs());
  return builder.create(state)->getResult(0);
}

/// If `op` divides a row by its sum, returns the inverse of the sum, to
/// multiply by: a division for each element would take longer than everything
/// else in softmax.
Value RowEmitter::getInverseOfSum(Operation *op) {
  auto division = dyn_cast<arith::DivFOp>(op);
  auto sum =
      division ? division.getRhs().getDefiningOp<step::ReduceOp>() : nullptr;
  if (!sum || sum.getKind() != step::Reduction::Sum)
    return Value();
  Value one = constant(builder.getFloatAttr(sum.getType(), 1.0));
  return arith::DivFOp::create(builder, op->getLoc(), one,
                               uniforms.lookup(sum.getResult()));
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
  auto type = cast<MemRefType>(buffer.getType());
  step::Strides layout(type);
  int64_t bytes = step::getElementBytes(type.getElementType());
  Place place;
  place.base = number(0); // pointers point to where views begin
  place.alignment =
      llvm::MinAlign(target.getBufferAlignment(), layout.offset * bytes);
  auto addToBase = [&](Value index, int64_t stride, int64_t multiple = 1) {
    if (stride == 0)
      return;
    place.base = add(place.base, scale(index, stride));
    place.alignment =
        llvm::MinAlign(place.alignment, stride * multiple * bytes);
  };
  if (indices.empty()) {
    for (auto [index, stride] : llvm::zip(rowIndices, layout.strides))
      addToBase(index, stride);
    place.stride = layout.strides.back();
    if (chunk)
      addToBase(chunk->first, place.stride, chunk->alignment);
    place.alignment = std::max(place.alignment, bytes);
    return place;
  }
  SmallVector<std::pair<Value, int64_t>> others;
  for (auto [index, stride] : llvm::zip(indices, layout.strides)) {
    if (!isPoint(index)) {
      addToBase(uniforms.lookup(index), stride);
    } else if (std::optional<Value> offset = getColumnOffset(index)) {
      if (*offset)
        addToBase(*offset, stride);
      addToBase(chunk->first, stride, chunk->alignment);
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
  place.alignment = std::max(place.alignment, bytes);
  return place;
}

/// The addresses of a chunk's elements, if they are not contiguous.
Value RowEmitter::getAddresses(Value pointer, Type stored, const Place &place,
                               const Chunk &chunk) {
  Value offsets =
      add(splat(place.base, chunk.width),
          arith::MulIOp::create(builder, loc, lanes(chunk.width),
                                splat(number(place.stride), chunk.width)));
  if (place.offsets)
    offsets = add(offsets, place.offsets);
  return LLVM::GEPOp::create(builder, loc,
                             VectorType::get(chunk.width, pointer.getType()),
                             stored, pointer, ArrayRef<LLVM::GEPArg>(offsets));
}

Value RowEmitter::load(step::LoadOp op, Chunk *chunk, unsigned phase) {
  auto buffer = cast<BlockArgument>(op.getBuffer());
  Type element = op.getType(), stored = getStored(element);
  Value pointer = context.pointers[buffer.getArgNumber()];
  Place place = getPlace(buffer, op.getIndices(), chunk, phase);
  Type type = chunk ? Type(VectorType::get(chunk->width, stored)) : stored;
  Value loaded;
  if (!chunk || place.isContiguous(*chunk))
    loaded = LLVM::LoadOp::create(builder, loc, type,
                                  getAddress(pointer, stored, place.base),
                                  place.alignment);
  else
    loaded = LLVM::masked_gather::create(
        builder, loc, type, getAddresses(pointer, stored, place, *chunk),
        getMask(*chunk, /*onlyOwn=*/false), ValueRange(),
        builder.getI32IntegerAttr(step::getElementBytes(element)));
  if (element.isInteger(1)) {
    Value zero = constant(builder.getZeroAttr(loaded.getType()));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, loaded,
                                 zero);
  }
  if (stored == element)
    return loaded;
  return arith::BitcastOp::create(
      builder, loc,
      chunk ? Type(VectorType::get(chunk->width, element)) : element, loaded);
}

void RowEmitter::store(step::StoreOp op, Chunk *chunk, unsigned phase) {
  auto buffer = cast<BlockArgument>(op.getBuffer());
  Type element = op.getValue().getType(), stored = getStored(element);
  Value pointer = context.pointers[buffer.getArgNumber()];
  Value value = chunk ? getVector(op.getValue(), *chunk, phase)
                      : uniforms.lookup(op.getValue());
  Type type = chunk ? Type(VectorType::get(chunk->width, stored)) : stored;
  if (element.isInteger(1))
    value = arith::ExtUIOp::create(builder, loc, type, value);
  else if (stored != element)
    value = arith::BitcastOp::create(builder, loc, type, value);
  Place place = getPlace(buffer, op.getIndices(), chunk, phase);
  bool isContiguous = !chunk || place.isContiguous(*chunk);
  bool isMasked = chunk && chunk->own && isa<VectorType>(chunk->own.getType());

  OpBuilder::InsertionGuard guard(builder);
  if (chunk && chunk->own && !isMasked) {
    auto branch = scf::IfOp::create(builder, loc, chunk->own);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
  }
  if (isContiguous && !isMasked)
    LLVM::StoreOp::create(builder, loc, value,
                          getAddress(pointer, stored, place.base),
                          place.alignment);
  else if (isContiguous)
    LLVM::MaskedStoreOp::create(builder, loc, value,
                                getAddress(pointer, stored, place.base),
                                chunk->own, place.alignment);
  else
    LLVM::masked_scatter::create(
        builder, loc, value, getAddresses(pointer, stored, place, *chunk),
        getMask(*chunk, /*onlyOwn=*/true),
        builder.getI32IntegerAttr(step::getElementBytes(element)));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value tp::codegen::combineValues(OpBuilder &builder, Location loc,
                                 step::Reduction kind, Value a, Value b) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(a.getType()));
  // The sign of zero does not matter in a maximum, but NaN does.
  auto anyZero = arith::FastMathFlags::nsz;
  switch (kind) {
  case step::Reduction::Sum:
    return isFloat ? arith::AddFOp::create(builder, loc, a, b).getResult()
                   : arith::AddIOp::create(builder, loc, a, b).getResult();
  case step::Reduction::Prod:
    return isFloat ? arith::MulFOp::create(builder, loc, a, b).getResult()
                   : arith::MulIOp::create(builder, loc, a, b).getResult();
  case step::Reduction::Max:
    return isFloat ? arith::MaximumFOp::create(builder, loc, a, b, anyZero)
                         .getResult()
                   : arith::MaxSIOp::create(builder, loc, a, b).getResult();
  case step::Reduction::Min:
    return isFloat ? arith::MinimumFOp::create(builder, loc, a, b, anyZero)
                         .getResult()
                   : arith::MinSIOp::create(builder, loc, a, b).getResult();
  case step::Reduction::UMax:
    return arith::MaxUIOp::create(builder, loc, a, b);
  case step::Reduction::UMin:
    return arith::MinUIOp::create(builder, loc, a, b);
  }
  llvm_unreachable("covered switch");
}

/// Returns the kind of reduction, and whether it compares integers as unsigned.
/// The integer types are signless here, so only `kind` tells them apart.
static std::pair<ReductionKind, bool> splitKind(step::Reduction kind) {
  switch (kind) {
  case step::Reduction::Sum:
    return {ReductionKind::Sum, false};
  case step::Reduction::Prod:
    return {ReductionKind::Prod, false};
  case step::Reduction::Max:
    return {ReductionKind::Max, false};
  case step::Reduction::Min:
    return {ReductionKind::Min, false};
  case step::Reduction::UMax:
    return {ReductionKind::Max, true};
  case step::Reduction::UMin:
    return {ReductionKind::Min, true};
  }
  llvm_unreachable("covered switch");
}

Value tp::codegen::getIdentity(OpBuilder &builder, Location loc,
                               step::Reduction kind, Type container) {
  Type type = getElementTypeOrSelf(container);
  auto [reduction, isUnsigned] = splitKind(kind);
  TypedAttr value;
  if (isUnsigned) {
    auto number = cast<IntegerAttr>(getReductionIdentity(
        reduction, builder.getIntegerType(type.getIntOrFloatBitWidth(),
                                          /*isSigned=*/false)));
    value = builder.getIntegerAttr(type, number.getValue());
  } else {
    value = getReductionIdentity(reduction, type);
  }
  if (auto vector = dyn_cast<VectorType>(container))
    value = DenseElementsAttr::get(vector, Attribute(value));
  return arith::ConstantOp::create(builder, loc, value);
}

Value tp::codegen::reduceVector(OpBuilder &builder, Location loc,
                                step::Reduction kind, Value vector) {
  using Kind = vector::CombiningKind;
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(vector.getType()));
  auto getKind = [&] {
    switch (kind) {
    case step::Reduction::Sum:
      return Kind::ADD;
    case step::Reduction::Prod:
      return Kind::MUL;
    case step::Reduction::Max:
      return isFloat ? Kind::MAXIMUMF : Kind::MAXSI;
    case step::Reduction::Min:
      return isFloat ? Kind::MINIMUMF : Kind::MINSI;
    case step::Reduction::UMax:
      return Kind::MAXUI;
    case step::Reduction::UMin:
      return Kind::MINUI;
    }
    llvm_unreachable("covered switch");
  };
  // Reduces as a tree; without permission to reassociate, the lanes would be
  // added one by one.
  return vector::ReductionOp::create(builder, loc, getKind(), vector,
                                     isFloat ? arith::FastMathFlags::reassoc |
                                                   arith::FastMathFlags::nsz
                                             : arith::FastMathFlags::none);
}

void tp::codegen::emitRow(OpBuilder &builder, step::RowsOp rows,
                          const RowAnalysis &analysis,
                          const RowContext &context, RowWalk walk,
                          RowTarget &target) {
  RowEmitter(builder, rows, analysis, context, std::move(walk), target).emit();
}
