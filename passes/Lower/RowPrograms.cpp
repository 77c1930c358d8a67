// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lowers each group of ops that is computed element by element to one step.rows
// op.

#include "Lowering.h"
#include "ScalarOps.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

/// Builds one row program. Operands are added when the body uses them.
class ProgramLowering::RowsBuilder {
public:
  RowsBuilder(ProgramLowering &lowering, ArrayRef<int64_t> domain,
              const FusionGroups *graph = nullptr, unsigned unit = 0)
      : lowering(lowering), graph(graph), unit(unit), loc(lowering.loc),
        domain(domain.begin(), domain.end()), builder(lowering.builder) {
    if (this->domain.empty())
      this->domain.push_back(1); // a scalar is a row of one
    builder.setInsertionPointToStart(&body);
  }

  using Level = FusionGroups::Level;

  /// Returns the value of `tensor` at the current point of the domain. `tensor`
  /// has all dimensions of the domain, or only the leading ones.
  Value get(Value tensor) {
    Value &scalar = scalars[tensor];
    if (scalar)
      return scalar;
    Value made;
    auto broadcast = tensor.getDefiningOp<BroadcastOp>();
    if (graph && broadcast && graph->getLevel(unit, tensor))
      made = get(broadcast.getInput());
    else if (isInline(tensor))
      made = getInline(tensor, llvm::to_vector(llvm::seq<int64_t>(
                                   0, typeOf(tensor).getRank())));
    else
      made = load(lowering.getView(tensor));
    return scalars[tensor] = made; // `scalar` may dangle by now
  }
  void set(Value tensor, Value scalar) { scalars[tensor] = scalar; }

  /// Loads the element of `view` at the current point of the domain. `view` has
  /// all dimensions of the domain, or only the leading ones. Its elements
  /// repeat along the other dimensions.
  Value load(const View &view) {
    View spread = view;
    while (spread.shape.size() < domain.size()) {
      spread.strides.push_back(0);
      spread.shape.push_back(domain[spread.shape.size()]);
    }
    return read(addRead(spread), {}, view.element);
  }
  Value loadAt(const View &view, ValueRange indices) {
    return read(addRead(view), indices, view.element);
  }
  void store(Value scalar, const View &view, Level level) {
    View target = view;
    if (level == Level::Row || target.shape.empty()) {
      target.shape.push_back(1);
      target.strides.push_back(1);
    }
    Value narrow = narrowScalar(builder, loc, scalar, view.element);
    step::StoreOp::create(builder, loc, narrow, addWrite(target), ValueRange());
  }
  /// Stores one part of an update into the tensor in the buffer `root`. The
  /// part is computed by this row program, or loaded from memory. If its place
  /// moves, it moves with `loop`.
  void storePart(const UpdatePart &part, Value root, step::LoopOp loop);

  /// Returns the single element of the scalar `tensor` as an index.
  Value getScalarIndex(Value tensor) {
    Type element = typeOf(tensor).getElementType();
    if (isInline(tensor))
      return toIndex(getInline(tensor, {}), element);
    return toIndex(load(lowering.getView(tensor).broadcast(domain, {})),
                   element);
  }
  Value toIndex(Value value, Type element) {
    Type i64 = builder.getI64Type();
    if (value.getType() == i64)
      return value;
    if (element.isUnsignedInteger() || element.isInteger(1))
      return arith::ExtUIOp::create(builder, loc, i64, value);
    return arith::ExtSIOp::create(builder, loc, i64, value);
  }
  Value number(int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  }
  Value index(unsigned dim) { return step::IndexOp::create(builder, loc, dim); }
  /// The device's position along `axes`. The first axis is the most
  /// significant.
  Value coordinate(ArrayRef<AxisRef> axes) {
    Value place;
    for (AxisRefAttr axis :
         toAttr(builder.getContext(), *lowering.mesh, axes).getAxes()) {
      Value digit = step::CoordinateOp::create(builder, loc, axis);
      if (place) {
        AxisRef ref = resolveAxes(axis, *lowering.mesh)[0];
        place = arith::MulIOp::create(builder, loc, place, number(ref.size));
        place = arith::AddIOp::create(builder, loc, place, digit);
      } else {
        place = digit;
      }
    }
    return place ? place : number(0);
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  /// The domain covers a slice of a tensor. Along `dim`, the tensor has size
  /// `size`, and the slice begins at index `start`. Returns the current point's
  /// index along `dim` of the tensor. `start` is clamped so that the slice is
  /// inside the tensor.
  Value getPlace(Value start, int64_t size, unsigned dim) {
    if (size == domain[dim])
      return index(dim); // the part is the whole tensor
    return add(getStart(start, size - domain[dim]), index(dim));
  }
  Value getStart(Value start, int64_t last) {
    return clamp(getScalarIndex(start), last);
  }
  /// Clamps `value` to 0 .. `last`.
  Value clamp(Value value, int64_t last) {
    value = arith::MaxSIOp::create(builder, loc, value, number(0));
    return arith::MinSIOp::create(builder, loc, value, number(last));
  }

  OpBuilder &getBuilder() { return builder; }

  /// Copies elements without conversion, whatever their type.
  void copy(const View &from, const View &to) {
    Value raw = step::LoadOp::create(builder, loc, addRead(from), ValueRange());
    storeRaw(raw, to);
  }
  void fill(const View &to, TypedAttr value) {
    if (auto number = dyn_cast<IntegerAttr>(value)) // made signless
      value = builder.getIntegerAttr(
          builder.getIntegerType(number.getValue().getBitWidth()),
          number.getValue());
    storeRaw(arith::ConstantOp::create(builder, loc, value), to);
  }

  void emit(Operation *op);
  /// Creates the step.rows op. Its body consists of the ops built so far.
  void finish();

private:
  void storeRaw(Value raw, const View &to) {
    step::StoreOp::create(builder, loc, raw, addWrite(to), ValueRange());
  }
  struct Access {
    Value buffer;
    BlockArgument argument;
  };

  Value read(Value argument, ValueRange indices, Type element) {
    Value raw = step::LoadOp::create(builder, loc, argument, indices);
    return widenScalar(builder, loc, raw, element);
  }
  Value addRead(const View &view) { return addOperand(reads, view); }
  Value addWrite(const View &view) { return addOperand(writes, view); }
  Value addOperand(SmallVectorImpl<Access> &list, const View &view);
  void readWhatIsWritten();

  /// Computes an element of `tensor`, a value that row programs recompute
  /// wherever they use it. Dimension i of `tensor` is dimension `dims[i]` of
  /// the domain.
  Value getInline(Value tensor, ArrayRef<int64_t> dims);
  Value emitLookup(GatherOp op);
  Value emitMask(MaskOp op);
  Value emitPartial(ToPartialOp op);

  ProgramLowering &lowering;
  const FusionGroups *graph;
  unsigned unit;
  Location loc;
  SmallVector<int64_t> domain;
  Block body;
  OpBuilder builder;
  SmallVector<Access> reads, writes;
  llvm::DenseMap<Value, Value> scalars;
};

Value ProgramLowering::RowsBuilder::addOperand(SmallVectorImpl<Access> &list,
                                               const View &view) {
  Value buffer = lowering.getBuffer(view);
  for (Access &access : list)
    if (access.buffer == buffer)
      return access.argument;
  BlockArgument argument = body.addArgument(buffer.getType(), loc);
  list.push_back({buffer, argument});
  return argument;
}

Value ProgramLowering::RowsBuilder::getInline(Value tensor,
                                              ArrayRef<int64_t> dims) {
  Operation *op = tensor.getDefiningOp();
  Type element = typeOf(tensor).getElementType();
  if (auto counter = dyn_cast<BlockArgument>(tensor)) {
    Operation *loop = lowering.loops.lookup(counter.getOwner()->getParentOp());
    Value turn =
        step::CounterOp::create(builder, loc, lowering.getLoopNumber(loop));
    return arith::TruncIOp::create(builder, loc, getComputeType(element), turn);
  }
  if (auto constant = dyn_cast<ConstantOp>(op))
    return createScalar(
        builder, loc,
        cast<SplatElementsAttr>(constant.getValue()).getSplatValue<Attribute>(),
        element);
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    SmallVector<int64_t> inner;
    for (int64_t dim : broadcast.getDims())
      inner.push_back(dims[dim]);
    return getInline(broadcast.getInput(), inner);
  }
  Type type = getComputeType(element);
  if (isa<IotaOp, AxisIndexOp>(op)) {
    Value place;
    if (auto iota = dyn_cast<IotaOp>(op))
      place = index(dims[iota.getDim()]);
    else
      place = coordinate(resolveAxes(cast<AxisIndexOp>(op).getAxes().getAxes(),
                                     *lowering.mesh));
    if (isa<FloatType>(type))
      return arith::SIToFPOp::create(builder, loc, type, place);
    if (type != place.getType())
      place = arith::TruncIOp::create(builder, loc, type, place);
    return place;
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getInline(operand, dims));
  return createScalarOp(builder, op, operands);
}

/// The element of the input at the index that is looked up, or zero if the
/// index is out of range.
Value ProgramLowering::RowsBuilder::emitLookup(GatherOp op) {
  View input = lowering.getView(op.getInput());
  View indices = lowering.getView(op.getIndices());
  int64_t axis = op.getAxis(), batch = op.getBatchDims();
  int64_t rank = indices.shape.size();
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < rank; ++i)
    dims.push_back(i < batch ? i : axis + i - batch);
  Value place = toIndex(load(indices.broadcast(domain, dims)), indices.element);
  Value isInside = arith::AndIOp::create(
      builder, loc, compare(arith::CmpIPredicate::sge, place, number(0)),
      compare(arith::CmpIPredicate::slt, place, number(input.shape[axis])));
  SmallVector<Value> at;
  for (int64_t dim = 0, e = input.shape.size(); dim < e; ++dim)
    at.push_back(dim == axis
                     ? clamp(place, input.shape[axis] - 1)
                     : index(dim < axis ? dim : dim + rank - batch - 1));
  Value zero = createScalar(builder, loc, 0.0, input.element);
  return select(isInside, loadAt(input, at), zero);
}

/// Returns the element of the op's input, or the value of the op's attribute
/// `value` if the element is padding.
Value ProgramLowering::RowsBuilder::emitMask(MaskOp op) {
  const LocalInfo &info = lowering.infos.find(op)->second.front();
  Value isReal;
  for (int64_t dim : op.getDims()) {
    const AxisList &axes = info.sharding.dims[dim].axes;
    Value begin = arith::MulIOp::create(builder, loc, coordinate(axes),
                                        number(domain[dim]));
    Value inside = compare(arith::CmpIPredicate::slt, add(begin, index(dim)),
                           number(info.global[dim]));
    isReal =
        isReal ? arith::AndIOp::create(builder, loc, isReal, inside).getResult()
               : inside;
  }
  Value value = get(op.getInput());
  return isReal ? select(isReal, value,
                         createScalar(builder, loc, op.getValue(),
                                      typeOf(op.getResult()).getElementType()))
                : value;
}

static step::Reduction toStep(ReductionKind kind, Type element) {
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  switch (kind) {
  case ReductionKind::Sum:
    return step::Reduction::Sum;
  case ReductionKind::Max:
    return isUnsigned ? step::Reduction::UMax : step::Reduction::Max;
  case ReductionKind::Min:
    return isUnsigned ? step::Reduction::UMin : step::Reduction::Min;
  case ReductionKind::Prod:
    return step::Reduction::Prod;
  }
  llvm_unreachable("covered switch");
}

/// The element if this device has to contribute it, else the reduction's
/// identity. Along axes that split no dimension, the first device contributes;
/// along axes that split one, each device contributes its block.
Value ProgramLowering::RowsBuilder::emitPartial(ToPartialOp op) {
  const LocalInfo &info = lowering.infos.find(op)->second.front();
  View input = lowering.getView(op.getInput());
  Value contributes;
  auto require = [&](Value condition) {
    contributes = contributes ? arith::AndIOp::create(builder, loc, contributes,
                                                      condition)
                                    .getResult()
                              : condition;
  };
  AxisList cutting;
  SmallVector<Value> at;
  for (auto [dim, axes] : llvm::enumerate(info.step.dimAxes)) {
    Value place = index(dim);
    if (!axes.empty()) {
      cutting.append(axes);
      int64_t size = input.shape[dim];
      Value begin =
          arith::MulIOp::create(builder, loc, coordinate(axes), number(size));
      place = arith::SubIOp::create(builder, loc, place, begin);
      require(compare(arith::CmpIPredicate::sge, place, number(0)));
      require(compare(arith::CmpIPredicate::slt, place, number(size)));
      place = clamp(place, size - 1);
    }
    at.push_back(place);
  }
  AxisList free = *subtract(info.step.axes, getMerged(cutting));
  if (!free.empty())
    require(compare(arith::CmpIPredicate::eq, coordinate(free), number(0)));
  Value value = cutting.empty() ? load(input) : loadAt(input, at);
  Type element = input.element;
  TypedAttr identity = getReductionIdentity(info.sharding.kind, element);
  return select(contributes, value,
                createScalar(builder, loc, identity, element));
}

void ProgramLowering::RowsBuilder::emit(Operation *op) {
  loc = op->getLoc();
  Value result = op->getResult(0);
  Type element = typeOf(result).getElementType();
  auto finishWith = [&](Value scalar) { set(result, scalar); };
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    return finishWith(step::ReduceOp::create(builder, loc,
                                             toStep(reduce.getKind(), element),
                                             get(reduce.getInput())));
  }
  if (auto lookup = dyn_cast<GatherOp>(op))
    return finishWith(emitLookup(lookup));
  if (auto mask = dyn_cast<MaskOp>(op))
    return finishWith(emitMask(mask));
  if (auto slice = dyn_cast<DynamicSliceOp>(op)) {
    View input = lowering.getView(slice.getInput());
    SmallVector<Value> at;
    for (auto [dim, start] : llvm::enumerate(slice.getStarts()))
      at.push_back(getPlace(start, input.shape[dim], dim));
    return finishWith(loadAt(input, at));
  }
  if (auto slice = dyn_cast<AllSliceOp>(op)) {
    // Every block is full, since unevenly split tensors have been padded.
    const LocalInfo &info = lowering.infos.find(op)->second.front();
    SmallVector<int64_t> padded(typeOf(result).getShape());
    for (auto [dim, axes] : llvm::enumerate(info.step.dimAxes))
      padded[dim] *= getSize(axes);
    View input = lowering.padTo(lowering.getView(slice.getInput()), padded, op);
    SmallVector<Value> at;
    for (auto [dim, axes] : llvm::enumerate(info.step.dimAxes)) {
      Value place = index(dim);
      if (!axes.empty())
        place = add(arith::MulIOp::create(builder, loc, coordinate(axes),
                                          number(domain[dim])),
                    place);
      at.push_back(place);
    }
    return finishWith(loadAt(input, at));
  }
  if (auto partial = dyn_cast<ToPartialOp>(op))
    return finishWith(emitPartial(partial));
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  Value scalar = createScalarOp(builder, op, operands);
  if (!scalar) {
    lowering.fail(op, ErrorCode::UnsupportedOp)
        << op->getName() << " of " << element << " cannot be lowered to steps";
    scalar = createScalar(builder, loc, 0.0, element);
  }
  finishWith(scalar);
}

void ProgramLowering::RowsBuilder::storePart(const UpdatePart &part, Value root,
                                             step::LoopOp loop) {
  SmallVector<int64_t> sizes(typeOf(part.value).getShape()),
      starts(sizes.size(), 0), ones(sizes.size(), 1);
  // A value that this row program computes has the domain's shape. A value that
  // it only copies may have rows that are several times as long.
  bool isWhole = sizes == domain;
  int64_t last = sizes.size() - 1, room = part.place.shape[last] - sizes[last];
  for (; starts[last] < sizes[last]; starts[last] += domain[last]) {
    Value element =
        isWhole
            ? get(part.value)
            : load(lowering.getView(part.value).slice(starts, domain, ones));
    SmallVector<int64_t> from(part.starts.size(), 0),
        steps(part.starts.size(), 1), to(part.place.shape);
    from[last] = starts[last];
    to[last] = domain[last] + room;
    View place = part.place.slice(from, to, steps);
    place.root = root;
    if (place.by != 0)
      place.loop = loop;
    SmallVector<Value> at;
    for (auto [dim, start] : llvm::enumerate(part.starts))
      at.push_back(dim < domain.size() ? getPlace(start, place.shape[dim], dim)
                   : start             ? getStart(start, place.shape[dim] - 1)
                                       : number(0));
    Value narrow = narrowScalar(builder, loc, element, place.element);
    step::StoreOp::create(builder, loc, narrow, addWrite(place), at);
  }
}

/// Returns true if two buffers are the same view of the same memory.
static bool isSameView(Value a, Value b) {
  if (a == b)
    return true;
  auto first = a.getDefiningOp<step::ViewOp>(),
       second = b.getDefiningOp<step::ViewOp>();
  return first && second && first.getSource() == second.getSource() &&
         a.getType() == b.getType() && first->getAttrs() == second->getAttrs();
}

/// A buffer that is both read and written becomes one operand, since operands
/// of a kernel must not overlap.
void ProgramLowering::RowsBuilder::readWhatIsWritten() {
  llvm::erase_if(reads, [&](Access &read) {
    for (Access &write : writes)
      if (isSameView(read.buffer, write.buffer)) {
        read.argument.replaceAllUsesWith(write.argument);
        return true;
      }
    return false;
  });
}

void ProgramLowering::RowsBuilder::finish() {
  readWhatIsWritten();
  SmallVector<Value> readBuffers, writeBuffers;
  for (const Access &access : reads)
    readBuffers.push_back(access.buffer);
  for (const Access &access : writes)
    writeBuffers.push_back(access.buffer);
  auto rows = step::RowsOp::create(lowering.builder, lowering.loc, domain,
                                   readBuffers, writeBuffers);
  // The block arguments are in the order of the op's operands.
  Block &block = rows.getBody().emplaceBlock();
  for (SmallVectorImpl<Access> *list : {&reads, &writes})
    for (Access &access : *list)
      access.argument.replaceAllUsesWith(
          block.addArgument(access.buffer.getType(), loc));
  block.getOperations().splice(block.end(), body.getOperations());
  collapseDomain(rows);
}

/// Returns true if the row program of `unit` reads and writes each element of
/// tensors of `shape` at one point only. Reductions do not: they read a whole
/// row before they write any element of the row.
static bool isElementwise(const Unit &unit, ArrayRef<int64_t> shape) {
  return unit.domain == shape && llvm::none_of(unit.ops, [](Operation *op) {
           return isa<ReduceOp>(op);
         });
}

void ProgramLowering::lowerRows(const FusionGroups &graph, unsigned index) {
  const Unit &unit = graph.get(index);
  RowsBuilder rows(*this, unit.domain, &graph, index);
  for (Operation *op : unit.ops)
    if (!isa<ConcatOp, DynamicUpdateSliceOp>(op))
      rows.emit(op);
  for (Operation *op : unit.ops) {
    if (auto update = dyn_cast<DynamicUpdateSliceOp>(op)) {
      View cache = getUpdated(update);
      std::optional<Motion> motion = getMotion(update);
      step::LoopOp loop = motion ? loops.lookup(motion->loop) : nullptr;
      for (const UpdatePart &part : graph.getParts(update))
        rows.storePart(part, cache.root, loop);
      continue;
    }
    Value result = op->getResult(0);
    if (!graph.escapes(index, result))
      continue;
    Value own = isElementwise(unit, typeOf(result).getShape())
                    ? getDonated(result, unit)
                    : Value();
    View view = own ? View(own) : allocatePart(result);
    rows.store(rows.get(result), view, *graph.getLevel(index, result));
    views[result] = view;
  }
  rows.finish();
}

void ProgramLowering::materialize(Value value, const View &to) {
  RowsBuilder rows(*this, to.shape);
  rows.store(rows.get(value), to, FusionGroups::Level::Point);
  rows.finish();
}

View ProgramLowering::materialize(Value value) {
  View view =
      allocate(typeOf(value).getShape(), typeOf(value).getElementType());
  materialize(value, view);
  return view;
}

void ProgramLowering::copyByRows(const View &from, const View &to) {
  RowsBuilder rows(*this, to.shape);
  rows.copy(from, to);
  rows.finish();
}

void ProgramLowering::fillByRows(const View &to, TypedAttr value) {
  RowsBuilder rows(*this, to.shape);
  rows.fill(to, value);
  rows.finish();
}

View ProgramLowering::compareScalar(Value scalar, int64_t low, int64_t high) {
  View view = allocate({}, builder.getI1Type());
  RowsBuilder rows(*this, {});
  Value value = rows.getScalarIndex(scalar);
  Value inside = arith::AndIOp::create(
      rows.getBuilder(), loc,
      rows.compare(arith::CmpIPredicate::sge, value, rows.number(low)),
      rows.compare(arith::CmpIPredicate::sle, value, rows.number(high)));
  rows.store(inside, view, FusionGroups::Level::Point);
  rows.finish();
  return view;
}

View ProgramLowering::lowerSlice(DynamicSliceOp op) {
  std::optional<Motion> motion = getMotion(op);
  ArrayRef<int64_t> shape = op.getType().getShape();
  View view = getView(op.getInput());
  int64_t by = 0;
  for (auto [move, stride] : llvm::zip(motion->moves, view.strides))
    by += move * stride;
  // Kernels rely on the alignment of buffers.
  if (view.by == 0 &&
      by * step::getElementBytes(view.element) % step::kArenaAlignment == 0) {
    SmallVector<int64_t> ones(shape.size(), 1);
    view = view.slice(motion->starts, shape, ones);
    view.loop = by == 0 ? nullptr : loops.lookup(motion->loop);
    view.by = by;
    return view;
  }
  View part = allocate(shape, view.element);
  RowsBuilder rows(*this, shape);
  rows.emit(op);
  rows.store(rows.get(op.getResult()), part, FusionGroups::Level::Point);
  rows.finish();
  return part;
}

View ProgramLowering::getUpdated(DynamicUpdateSliceOp op) {
  View input = getOwn(op.getInput(), op.getResult(), op);
  // A cache is a donated argument that is updated in part. The caller must not
  // write past its end, so the program records the number of positions of the
  // whole cache.
  auto cache = dyn_cast<BlockArgument>(op.getInput());
  if (!cache || cache.getOwner() != &function.front() ||
      !function.getArgAttr(cache.getArgNumber(), kDonatedAttr))
    return views[op.getResult()] = input;
  auto declared =
      cast<step::InputAttr>(program.getInputs()[cache.getArgNumber()]);
  RankedTensorType whole = spmd::getGlobalType(declared.getType());
  for (auto [dim, start] : llvm::enumerate(op.getStarts())) {
    int64_t local = input.shape[dim], size = whole.getDimSize(dim);
    bool isCutShort = local < size && !start.getDefiningOp<ConstantOp>();
    if (typeOf(op.getUpdate()).getDimSize(dim) < local || isCutShort)
      program.setPositions(
          std::min<int64_t>(size, program.getPositions().value_or(size)));
  }
  return views[op.getResult()] = input;
}
