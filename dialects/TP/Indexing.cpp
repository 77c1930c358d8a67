// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that address elements by indices.

#include "dialects/OpError.h"
#include "dialects/TP/Emitter.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using spmd::Linearity;
using spmd::PropagationClass;

//===----------------------------------------------------------------------===//
// Gather and scatter: reading and writing at the same indices

/// The shape of a gather's result, or of a scatter's updates. Fails, with an
/// error, if the operands do not fit.
static FailureOr<SmallVector<int64_t>>
getGatheredShape(Operation *op, RankedTensorType input,
                 RankedTensorType indices, int64_t axis, int64_t batch) {
  if (axis < 0 || axis >= input.getRank())
    return tp::emitOpError(op, ErrorCode::BadAttribute)
           << "axis " << axis << " is out of range for the input";
  if (batch < 0 || batch > indices.getRank() || batch > axis ||
      input.getShape().take_front(batch) !=
          indices.getShape().take_front(batch))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects the first " << batch
           << " dimensions of input and indices to have equal sizes, and axis "
              "to come after them";
  SmallVector<int64_t> shape(input.getShape().take_front(axis));
  llvm::append_range(shape, indices.getShape().drop_front(batch));
  llvm::append_range(shape, input.getShape().drop_front(axis + 1));
  return shape;
}

/// Adds the dimensions of input, indices and the gathered tensor to a rule.
/// `axisFactor` is the factor of the input's axis. The factors of the index
/// dimensions get the kind `indexKind`, except for those of batch dimensions.
static void addGatherDims(RuleBuilder &rule, unsigned axisFactor,
                          FactorKind indexKind, unsigned input,
                          unsigned indices, unsigned gathered,
                          RankedTensorType inputType,
                          RankedTensorType indicesType, int64_t axis,
                          int64_t batch) {
  SmallVector<unsigned> inputFactors, indexFactors;
  for (int64_t i = 0; i < inputType.getRank(); ++i)
    inputFactors.push_back(i == axis ? axisFactor
                                     : rule.addFactor(inputType.getDimSize(i)));
  for (int64_t i = 0; i < indicesType.getRank(); ++i)
    indexFactors.push_back(
        i < batch ? inputFactors[i]
                  : rule.addFactor(indicesType.getDimSize(i), indexKind));
  for (unsigned factor : inputFactors)
    rule.addDim(input, factor);
  for (unsigned factor : indexFactors)
    rule.addDim(indices, factor);
  for (int64_t i = 0; i < axis; ++i)
    rule.addDim(gathered, inputFactors[i]);
  for (int64_t i = batch; i < indicesType.getRank(); ++i)
    rule.addDim(gathered, indexFactors[i]);
  for (int64_t i = axis + 1; i < inputType.getRank(); ++i)
    rule.addDim(gathered, inputFactors[i]);
}

/// Subtracts the start of the device's block of `global`, in dimension `axis`,
/// from `indices`. The index of an element outside of the block becomes an
/// index that is out of the block's range. If the last block has padding, an
/// index past the end of `global` becomes -1, so that it does not address this
/// padding.
static Value makeIndicesLocal(spmd::Localizer &localizer, Location loc,
                              Value indices, Value global, unsigned axis) {
  Value begin = localizer.getBlockBegin(global, axis);
  if (!begin)
    return indices;
  OpBuilder &builder = localizer.getBuilder();
  Emitter emit(builder, loc);
  auto type = typeOf(indices);
  // The start of a block, or an index minus this start, may not fit into a
  // narrow type.
  if (type.getElementType().getIntOrFloatBitWidth() < 32) {
    type = RankedTensorType::get(type.getShape(), builder.getI32Type(),
                                 type.getEncoding());
    indices = ConvertOp::create(builder, loc, type, indices);
  }
  auto repeat = [&](Value scalar) -> Value {
    return BroadcastOp::create(builder, loc, type,
                               emit.convert(scalar, type.getElementType()),
                               ArrayRef<int64_t>());
  };
  Value shifted = SubOp::create(builder, loc, type, indices, repeat(begin));
  int64_t size = typeOf(global).getDimSize(axis);
  int64_t devices = getSize(localizer.getSharding(global).dims[axis].axes);
  if (!BlockLayout{size, devices}.isUneven())
    return shifted;
  auto scalar = [&](double value) {
    return repeat(
        emit.constant(value, RankedTensorType::get({}, type.getElementType())));
  };
  auto boolType = RankedTensorType::get(type.getShape(), builder.getI1Type(),
                                        type.getEncoding());
  Value inside = CompareOp::create(builder, loc, boolType, ComparePredicate::LT,
                                   indices, scalar(size));
  return SelectOp::create(builder, loc, type, inside, shifted, scalar(-1));
}

LogicalResult GatherOp::verify() {
  FailureOr<SmallVector<int64_t>> shape =
      getGatheredShape(*this, typeOf(getInput()), typeOf(getIndices()),
                       getAxis(), getBatchDims());
  if (failed(shape))
    return failure();
  if (getType().getShape() != ArrayRef<int64_t>(*shape) ||
      getType().getElementType() != typeOf(getInput()).getElementType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "result must be "
           << RankedTensorType::get(*shape,
                                    typeOf(getInput()).getElementType());
  return success();
}

ShardingRule GatherOp::getShardingRule() {
  RuleBuilder rule(2, 1);
  unsigned axis = rule.addFactor(typeOf(getInput()).getDimSize(getAxis()));
  addGatherDims(rule, axis, FactorKind::PassThrough, 0, 1, 2,
                typeOf(getInput()), typeOf(getIndices()), getAxis(),
                getBatchDims());
  return rule.build();
}

double GatherOp::getFlops(ArrayRef<int64_t>) { return 0; }

Linearity GatherOp::getLinearity(unsigned operand, ReduceKind kind) {
  // Out-of-range indices give zeros, which are the identity only for sums.
  return operand == 0 && kind == ReduceKind::Sum ? Linearity::Joint
                                                 : Linearity::None;
}

FailureOr<SmallVector<TensorValue>>
GatherOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  return SmallVector<TensorValue>{evaluator.gather(
      operands[0], operands[1], getAxis(), getBatchDims(), getType())};
}

FailureOr<SmallVector<Value>> GatherOp::localize(spmd::Localizer &localizer,
                                                 ValueRange operands) {
  Value indices =
      makeIndicesLocal(localizer, getLoc(), operands[1], getInput(), getAxis());
  return SmallVector<Value>{create(
      localizer.getBuilder(), getLoc(), localizer.getLocalType(getResult()),
      operands[0], indices, getAxis(), getBatchDims())};
}

LogicalResult ScatterOp::verify() {
  FailureOr<SmallVector<int64_t>> shape =
      getGatheredShape(*this, typeOf(getInput()), typeOf(getIndices()),
                       getAxis(), getBatchDims());
  if (failed(shape))
    return failure();
  if (typeOf(getUpdates()).getShape() != ArrayRef<int64_t>(*shape) ||
      typeOf(getUpdates()).getElementType() !=
          typeOf(getInput()).getElementType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "updates must be "
           << RankedTensorType::get(*shape,
                                    typeOf(getInput()).getElementType());
  // On a device, the result may be a partial sum while the input is not, so
  // only compare shapes and element types.
  if (getType().getShape() != typeOf(getInput()).getShape() ||
      getType().getElementType() != typeOf(getInput()).getElementType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "result must have the input's type";
  return success();
}

ShardingRule ScatterOp::getShardingRule() {
  RuleBuilder rule(3, 1);
  RankedTensorType input = typeOf(getInput());
  unsigned axis = rule.addFactor(input.getDimSize(getAxis()));
  // If updates are added, each device can add its own: one device adds its
  // updates to the input, all others add theirs to zeros, and the result is a
  // partial sum. Updates that overwrite or multiply must be applied in order.
  addGatherDims(
      rule, axis,
      getKind() == ScatterKind::Add ? FactorKind::Reduction : FactorKind::Whole,
      0, 1, 2, input, typeOf(getIndices()), getAxis(), getBatchDims());
  // The result has the same factors as the input.
  ShardingRule built = rule.build();
  built.results[0] = built.operands[0];
  for (auto [i, factor] : llvm::enumerate(built.factors))
    if (factor.kind == FactorKind::Reduction && built.hasFactor(3, i))
      factor.kind = FactorKind::PassThrough;
  return built;
}

double ScatterOp::getFlops(ArrayRef<int64_t>) { return 0; }

FailureOr<SmallVector<TensorValue>>
ScatterOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  return SmallVector<TensorValue>{
      evaluator.scatter(getKind(), operands[0], operands[1], operands[2],
                        getAxis(), getBatchDims(), getType())};
}

/// Returns a scalar that is true on the device that holds the first block of
/// `op`'s indices along every sharded dimension. Returns null if every device
/// holds all indices.
static Value hasFirstUpdates(spmd::Localizer &localizer, ScatterOp op) {
  Emitter emit(localizer.getBuilder(), op.getLoc());
  Value all;
  for (int64_t i = op.getBatchDims(), e = typeOf(op.getIndices()).getRank();
       i < e; ++i) {
    Value begin = localizer.getBlockBegin(op.getIndices(), i);
    if (!begin)
      continue;
    Value isFirst =
        emit.compare(ComparePredicate::EQ, begin, emit.constant(0, begin));
    all = all ? emit.binary<AndOp>(all, isFirst) : isFirst;
  }
  return all;
}

FailureOr<SmallVector<Value>> ScatterOp::localize(spmd::Localizer &localizer,
                                                  ValueRange operands) {
  OpBuilder &builder = localizer.getBuilder();
  Value indices =
      makeIndicesLocal(localizer, getLoc(), operands[1], getInput(), getAxis());
  // The first device adds to the input, all others add to zeros.
  Value input = operands[0];
  if (Value isFirst = hasFirstUpdates(localizer, *this)) {
    Emitter emit(builder, getLoc());
    auto type = cast<RankedTensorType>(input.getType());
    auto mask = RankedTensorType::get(type.getShape(), builder.getI1Type(),
                                      type.getEncoding());
    input = SelectOp::create(builder, getLoc(), type,
                             BroadcastOp::create(builder, getLoc(), mask,
                                                 isFirst, ArrayRef<int64_t>()),
                             input, emit.constant(0, type));
  }
  Value updates = operands[2];
  if (getKind() == ScatterKind::Add) {
    // Updates in the padding must add nothing, so set them to zero.
    int64_t count = typeOf(getIndices()).getRank() - int64_t(getBatchDims());
    updates = localizer.maskPadding(
        updates,
        llvm::to_vector(llvm::seq<int64_t>(getAxis(), getAxis() + count)),
        ReduceKind::Sum);
  }
  return SmallVector<Value>{
      create(builder, getLoc(), localizer.getLocalType(getResult()), getKind(),
             input, indices, updates, getAxis(), getBatchDims())};
}

//===----------------------------------------------------------------------===//
// EmbeddingOp
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::verify() {
  RankedTensorType table = typeOf(getTable());
  if (table.getRank() != 2)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a table [vocabulary, features], got " << table;
  SmallVector<int64_t> shape(typeOf(getIds()).getShape());
  shape.push_back(table.getDimSize(1));
  if (getType().getShape() != ArrayRef<int64_t>(shape) ||
      getType().getElementType() != table.getElementType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "result must be "
           << RankedTensorType::get(shape, table.getElementType());
  return success();
}

double EmbeddingOp::getFlops(ArrayRef<int64_t>) { return 0; }

Linearity EmbeddingOp::getLinearity(unsigned operand, ReduceKind kind) {
  return operand == 0 && kind == ReduceKind::Sum ? Linearity::Joint
                                                 : Linearity::None;
}

SmallVector<Value> EmbeddingOp::decompose(OpBuilder &builder) {
  return {GatherOp::create(builder, getLoc(), getType(), getTable(), getIds(),
                           /*axis=*/0, /*batch_dims=*/0)};
}

FailureOr<SmallVector<Value>> EmbeddingOp::localize(spmd::Localizer &localizer,
                                                    ValueRange operands) {
  Value ids = makeIndicesLocal(localizer, getLoc(), operands[1], getTable(), 0);
  return SmallVector<Value>{create(localizer.getBuilder(), getLoc(),
                                   localizer.getLocalType(getResult()),
                                   operands[0], ids)};
}

//===----------------------------------------------------------------------===//
// Dynamic slices
//===----------------------------------------------------------------------===//

static LogicalResult verifyStarts(Operation *op, ValueRange starts,
                                  int64_t rank) {
  if (int64_t(starts.size()) != rank)
    return tp::emitOpError(op, ErrorCode::BadAttribute)
           << "expects one start per dimension";
  for (Value start : starts)
    if (typeOf(start).getRank() != 0)
      return tp::emitOpError(op, ErrorCode::TypeMismatch)
             << "expects scalar starts, got " << start.getType();
  return success();
}

/// Checks that `part` is no longer than `whole` in any dimension.
static LogicalResult verifyFits(Operation *op, RankedTensorType whole,
                                RankedTensorType part, StringRef what) {
  if (part.getRank() == whole.getRank() &&
      part.getElementType() == whole.getElementType() &&
      llvm::all_of(llvm::zip(part.getShape(), whole.getShape()),
                   [](auto s) { return std::get<0>(s) <= std::get<1>(s); }))
    return success();
  return tp::emitOpError(op, ErrorCode::TypeMismatch)
         << "expects the " << what << " to have the rank and element type of "
         << whole << ", and no dimension that is larger, got " << part;
}

namespace {

/// The part of a tensor that a dynamic slice reads or writes, as seen by a
/// device that holds a block of the tensor. The part begins at a computed
/// index. `window` is the range of the block's rows that can belong to the
/// part:
///
///     whole        0 ............ start ....... start + length ....... size
///     block                begin ....... begin + block
///     window               [ min(block, length) rows of the block ]
class PartOfBlock {
public:
  PartOfBlock(spmd::Localizer &localizer, Location loc, Value whole,
              RankedTensorType part, ValueRange starts)
      : builder(localizer.getBuilder()), emit(builder, loc),
        window(part.getShape()), first(starts) {
    RankedTensorType type = typeOf(whole),
                     local = localizer.getLocalType(whole);
    for (unsigned dim = 0; dim < window.size(); ++dim) {
      int64_t size = type.getDimSize(dim), length = part.getDimSize(dim);
      Value begin =
          size != length ? localizer.getBlockBegin(whole, dim) : Value();
      if (!begin)
        continue;
      cut.push_back(dim);
      // Clamp the start here, so that the part is inside of the whole tensor.
      // An op on the block would move the part into the block.
      Value start = clamp(widen(starts[dim]), size - length);
      first[dim] = emit.binary<SubOp>(emit.convert(start, i32()), begin);
      window[dim] = std::min(length, local.getDimSize(dim));
    }
  }

  ArrayRef<unsigned> getCut() const { return cut; }
  ArrayRef<int64_t> getWindow() const { return window; }
  /// The start of the part relative to the start of the block. May be negative,
  /// or past the end of the block.
  Value getFirst(unsigned dim) const { return first[dim]; }

  /// The indices `first`, `first` + 1 ..
  Value count(Value first, int64_t length) {
    Value places = emit.iota(0, {length}, i32());
    return emit.binary<AddOp>(places, emit.splat(first, {length}));
  }
  /// `start`, clamped to [0, last] as dynamic slices do.
  Value clamp(Value start, int64_t last) {
    start = emit.binary<MaxOp>(emit.constant(0, start), start);
    return emit.binary<MinOp>(emit.constant(last, start), start);
  }
  Emitter &getEmitter() { return emit; }

private:
  Type i32() { return builder.getI32Type(); }
  /// The last index may not fit into a narrow integer type.
  Value widen(Value start) {
    bool isNarrow = typeOf(start).getElementType().getIntOrFloatBitWidth() < 32;
    return isNarrow ? emit.convert(start, i32()) : start;
  }

  OpBuilder &builder;
  Emitter emit;
  SmallVector<unsigned> cut;
  SmallVector<int64_t> window;
  SmallVector<Value> first;
};

} // namespace

LogicalResult DynamicSliceOp::verify() {
  if (failed(verifyStarts(*this, getStarts(), typeOf(getInput()).getRank())))
    return failure();
  return verifyFits(*this, typeOf(getInput()), getType(), "result");
}

ShardingRule DynamicSliceOp::getShardingRule() {
  unsigned result = 1 + getStarts().size();
  RuleBuilder rule(result, 1);
  for (auto [from, to] :
       llvm::zip(typeOf(getInput()).getShape(), getType().getShape())) {
    // A device adds zeros for the rows of the slice that its block lacks.
    bool pass = from == to;
    unsigned factor = rule.addFactor(from, pass ? FactorKind::PassThrough
                                                : FactorKind::Reduction);
    rule.addDim(0, factor);
    rule.addDim(result, pass ? factor : rule.addFactor(to, FactorKind::Whole));
  }
  return rule.build();
}

PropagationClass DynamicSliceOp::getPropagationClass() {
  return PropagationClass::DynamicSlice;
}
double DynamicSliceOp::getFlops(ArrayRef<int64_t>) { return 0; }
Linearity DynamicSliceOp::getLinearity(unsigned operand, ReduceKind) {
  return operand == 0 ? Linearity::Joint : Linearity::None;
}

FailureOr<SmallVector<TensorValue>>
DynamicSliceOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  return SmallVector<TensorValue>{
      evaluator.dynamicSlice(operands[0], operands.drop_front(), getType())};
}

/// Gathers the rows of the slice that are in the device's block of the input.
/// On this device, all other rows of the slice are zeros.
FailureOr<SmallVector<Value>>
DynamicSliceOp::localize(spmd::Localizer &localizer, ValueRange operands) {
  OpBuilder &builder = localizer.getBuilder();
  RankedTensorType result = localizer.getLocalType(getResult());
  PartOfBlock part(localizer, getLoc(), getInput(), getType(),
                   operands.drop_front());
  Emitter &emit = part.getEmitter();
  Value x = operands[0];
  SmallVector<Value> starts(operands.drop_front());
  SmallVector<int64_t> shape(result.getShape());
  for (unsigned dim : part.getCut()) {
    starts[dim] = emit.constant(0, starts[dim]);
    shape[dim] = typeOf(x).getDimSize(dim);
  }
  if (part.getCut().empty())
    return SmallVector<Value>{create(builder, getLoc(), result, x, starts)};
  if (ArrayRef(shape) != typeOf(x).getShape())
    x = create(builder, getLoc(), Emitter::withShape(x, shape), x, starts);
  for (unsigned dim : part.getCut()) {
    Value rows = part.count(part.getFirst(dim), result.getDimSize(dim));
    shape[dim] = result.getDimSize(dim);
    bool isLast = dim == part.getCut().back();
    x = GatherOp::create(builder, getLoc(),
                         isLast ? result : Emitter::withShape(x, shape), x,
                         rows, /*axis=*/dim, /*batch_dims=*/0);
  }
  return SmallVector<Value>{x};
}

LogicalResult DynamicUpdateSliceOp::verify() {
  if (failed(verifyStarts(*this, getStarts(), typeOf(getInput()).getRank())) ||
      failed(
          verifyFits(*this, typeOf(getInput()), typeOf(getUpdate()), "update")))
    return failure();
  if (getType() != getInput().getType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "result must have the input's type";
  return success();
}

ShardingRule DynamicUpdateSliceOp::getShardingRule() {
  unsigned result = 2 + getStarts().size();
  RuleBuilder rule(result, 1);
  for (auto [whole, part] : llvm::zip(typeOf(getInput()).getShape(),
                                      typeOf(getUpdate()).getShape())) {
    bool pass = whole == part;
    unsigned factor = rule.addFactor(whole);
    rule.addDim(0, factor);
    rule.addDim(1, pass ? factor : rule.addFactor(part, FactorKind::Whole));
    rule.addDim(result, factor);
  }
  return rule.build();
}

PropagationClass DynamicUpdateSliceOp::getPropagationClass() {
  return PropagationClass::DynamicSlice;
}
double DynamicUpdateSliceOp::getFlops(ArrayRef<int64_t>) { return 0; }
Linearity DynamicUpdateSliceOp::getLinearity(unsigned operand, ReduceKind) {
  return operand < 2 ? Linearity::Joint : Linearity::None;
}

FailureOr<SmallVector<TensorValue>>
DynamicUpdateSliceOp::evaluate(Evaluator &evaluator,
                               ArrayRef<TensorValue> operands) {
  return SmallVector<TensorValue>{evaluator.dynamicUpdateSlice(
      operands[0], operands[1], operands.drop_front(2), getType())};
}

/// Overwrites a window of the block in place. Rows of the window that the
/// update covers become rows of the update, and all others keep their values.
/// Each device changes only its own rows.
FailureOr<SmallVector<Value>>
DynamicUpdateSliceOp::localize(spmd::Localizer &localizer,
                               ValueRange operands) {
  OpBuilder &builder = localizer.getBuilder();
  Value x = operands[0], update = operands[1];
  RankedTensorType local = typeOf(x);
  PartOfBlock part(localizer, getLoc(), getInput(), typeOf(getUpdate()),
                   operands.drop_front(2));
  Emitter &emit = part.getEmitter();
  SmallVector<Value> starts(operands.drop_front(2));
  SmallVector<int64_t> window(typeOf(update).getShape());
  Value inside;
  for (unsigned dim : part.getCut())
    window[dim] = part.getWindow()[dim];
  for (unsigned dim : part.getCut()) {
    int64_t length = typeOf(update).getDimSize(dim), rows = window[dim];
    Value first = part.getFirst(dim);
    starts[dim] = part.clamp(first, local.getDimSize(dim) - rows);
    // The rows of the update that correspond to the window's rows.
    Value places = part.count(emit.binary<SubOp>(starts[dim], first), rows);
    Value isUpdate = emit.binary<AndOp>(
        emit.compare(ComparePredicate::GE, places, emit.constant(0, places)),
        emit.compare(ComparePredicate::LT, places,
                     emit.constant(length, places)));
    isUpdate = emit.broadcast(isUpdate, window, {dim});
    inside = inside ? emit.binary<AndOp>(inside, isUpdate) : isUpdate;
    if (length > 1)
      update = emit.gather(update, places, /*axis=*/dim, /*batchDims=*/0);
  }
  if (inside) {
    RankedTensorType type = Emitter::withShape(x, window);
    Value old = DynamicSliceOp::create(builder, getLoc(), type, x, starts);
    update = SelectOp::create(builder, getLoc(), type, inside, update, old);
  }
  return SmallVector<Value>{create(builder, getLoc(),
                                   localizer.getLocalType(getResult()), x,
                                   update, starts)};
}
