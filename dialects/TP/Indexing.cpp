// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that address elements by value.

#include "dialects/OpError.h"
#include "dialects/TP/Emitter.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using spmd::Linearity;
using spmd::PropagationClass;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Gather and scatter: the same dimensions in two directions
//===----------------------------------------------------------------------===//

/// The shape of a gather's result, or of a scatter's updates; none if the
/// operands do not fit, with the reason emitted.
static FailureOr<SmallVector<int64_t>>
getGatheredShape(Operation *op, RankedTensorType input,
                 RankedTensorType indices, int64_t axis, int64_t batch) {
  if (axis < 0 || axis >= input.getRank())
    return tp::emitOpError(op, ErrorCode::BadAttribute)
           << "axis " << axis << " is no dimension of the input";
  if (batch < 0 || batch > indices.getRank() || batch > axis ||
      input.getShape().take_front(batch) !=
          indices.getShape().take_front(batch))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "the first " << batch
           << " dimensions of input and indices must agree, before axis";
  SmallVector<int64_t> shape(input.getShape().take_front(axis));
  llvm::append_range(shape, indices.getShape().drop_front(batch));
  llvm::append_range(shape, input.getShape().drop_front(axis + 1));
  return shape;
}

/// Adds the dimensions of input, indices and the gathered tensor to a rule.
/// `axisFactor` is that of the input's axis, `indexKind` what index dimensions
/// are.
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

/// `indices` counted from where the device's block of `global`, dimension
/// `axis`, begins. What lies outside the block stays outside; an index past the
/// global end must not hit the padding of the last block.
static Value makeIndicesLocal(spmd::Localizer &localizer, Location loc,
                              Value indices, Value global, unsigned axis) {
  Value begin = localizer.getBlockBegin(global, axis);
  if (!begin)
    return indices;
  OpBuilder &builder = localizer.getBuilder();
  Emitter emit(builder, loc);
  auto type = typeOf(indices);
  // A narrow index type may not hold where blocks begin, nor a difference.
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
  // Indices outside give zeros, which are the identity of a sum only.
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
  if (getType() != getInput().getType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "result must have the input's type";
  return success();
}

ShardingRule ScatterOp::getShardingRule() {
  RuleBuilder rule(3, 1);
  RankedTensorType input = typeOf(getInput());
  unsigned axis = rule.addFactor(input.getDimSize(getAxis()));
  // Updates over a cut index dimension would each start from the input.
  addGatherDims(rule, axis, FactorKind::Whole, 0, 1, 2, input,
                typeOf(getIndices()), getAxis(), getBatchDims());
  // The input's factors again, for the result.
  ShardingRule built = rule.build();
  built.results[0] = built.operands[0];
  for (Factor &factor : built.factors)
    if (factor.kind == FactorKind::Reduction)
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

FailureOr<SmallVector<Value>> ScatterOp::localize(spmd::Localizer &localizer,
                                                  ValueRange operands) {
  Value indices =
      makeIndicesLocal(localizer, getLoc(), operands[1], getInput(), getAxis());
  return SmallVector<Value>{create(
      localizer.getBuilder(), getLoc(), localizer.getLocalType(getResult()),
      getKind(), operands[0], indices, operands[2], getAxis(), getBatchDims())};
}

//===----------------------------------------------------------------------===//
// EmbeddingOp
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::verify() {
  RankedTensorType table = typeOf(getTable());
  if (table.getRank() != 2)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "table is [vocabulary, features], not " << table;
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
           << "has one start per dimension";
  for (Value start : starts)
    if (typeOf(start).getRank() != 0)
      return tp::emitOpError(op, ErrorCode::TypeMismatch)
             << "starts are scalars, not " << start.getType();
  return success();
}

/// `part` is no longer than `whole` anywhere.
static LogicalResult verifyFits(Operation *op, RankedTensorType whole,
                                RankedTensorType part, StringRef what) {
  if (part.getRank() == whole.getRank() &&
      part.getElementType() == whole.getElementType() &&
      llvm::all_of(llvm::zip(part.getShape(), whole.getShape()),
                   [](auto s) { return std::get<0>(s) <= std::get<1>(s); }))
    return success();
  return tp::emitOpError(op, ErrorCode::TypeMismatch)
         << what << ' ' << part << " does not fit into " << whole;
}

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
    bool pass = from == to;
    unsigned factor = rule.addFactor(from, pass ? FactorKind::PassThrough
                                                : FactorKind::Whole);
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
    unsigned factor = rule.addFactor(whole, pass ? FactorKind::PassThrough
                                                 : FactorKind::Whole);
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
