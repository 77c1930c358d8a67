// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Constants, and ops that move data without computing.

#include "dialects/OpError.h"
#include "dialects/TP/Emitter.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tp;
using spmd::Linearity;
using spmd::PropagationClass;

/// Checks that the input and the result have the same element type.
static LogicalResult verifyElement(Operation *op, Value input, Value result) {
  if (typeOf(input).getElementType() == typeOf(result).getElementType())
    return success();
  return tp::emitOpError(op, ErrorCode::TypeMismatch)
         << "expects input and result to have the same element type, got "
         << typeOf(input).getElementType() << " and "
         << typeOf(result).getElementType() << "; write tp.convert";
}

/// Ops that move data do no arithmetic and commute with every reduction.
#define TP_MOVEMENT(OP, CLASS)                                                 \
  double OP::getFlops(ArrayRef<int64_t>) { return 0; }                         \
  PropagationClass OP::getPropagationClass() { return PropagationClass::CLASS; }
#define TP_LINEAR_MOVEMENT(OP, CLASS)                                          \
  TP_MOVEMENT(OP, CLASS)                                                       \
  Linearity OP::getLinearity(unsigned, ReduceKind) { return Linearity::Joint; }
TP_LINEAR_MOVEMENT(BroadcastOp, Broadcast)
TP_LINEAR_MOVEMENT(TransposeOp, DataMovement)
TP_LINEAR_MOVEMENT(ReshapeOp, DataMovement)
TP_LINEAR_MOVEMENT(SliceOp, Other)
TP_LINEAR_MOVEMENT(ConcatOp, Other)
TP_MOVEMENT(PadOp, Other)
#undef TP_LINEAR_MOVEMENT
#undef TP_MOVEMENT

/// The rule for an op without operands: every dimension may be sharded.
static ShardingRule makeSourceRule(RankedTensorType type) {
  RuleBuilder rule(0, 1);
  for (int64_t size : type.getShape())
    rule.addDim(0, rule.addFactor(size));
  return rule.build();
}

/// Appends a dimension to operand 0 and to the result. If `whole` is true, the
/// result has all elements of the operand along this dimension, and the
/// dimension passes through. Otherwise the dimension must be sharded neither in
/// the operand nor in the result.
static void addPassOrWhole(RuleBuilder &rule, int64_t operandSize,
                           int64_t resultSize, bool whole) {
  if (whole) {
    unsigned factor = rule.addFactor(operandSize);
    rule.addDim(0, factor);
    rule.addDim(1, factor);
    return;
  }
  rule.addDim(0, rule.addFactor(operandSize, FactorKind::Whole));
  rule.addDim(1, rule.addFactor(resultSize, FactorKind::Whole));
}

//===----------------------------------------------------------------------===//
// ConstantOp
//===----------------------------------------------------------------------===//

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  ElementsAttr value;
  Type type;
  if (parser.parseAttribute(value, "value", result.attributes) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  // After Localize, the result type has an encoding, unlike the value's type.
  type = value.getType();
  if (succeeded(parser.parseOptionalKeyword("as")) && parser.parseType(type))
    return failure();
  result.addTypes(type);
  return success();
}

void ConstantOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getValue();
  printer.printOptionalAttrDict((*this)->getAttrs(), {"value"});
  if (getValue().getType() != getType())
    printer << " as " << getType();
}

LogicalResult ConstantOp::verify() {
  // A dense attribute may also have a vector type.
  auto value = dyn_cast<RankedTensorType>(getValue().getType());
  if (!value || value.getShape() != getType().getShape() ||
      value.getElementType() != getType().getElementType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects the value to have the result's type, got "
           << getValue().getType() << " for " << getType();
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

ShardingRule ConstantOp::getShardingRule() { return makeSourceRule(getType()); }
double ConstantOp::getFlops(ArrayRef<int64_t>) { return 0; }

FailureOr<SmallVector<TensorValue>>
ConstantOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue>) {
  return SmallVector<TensorValue>{evaluator.constant(getValue(), getType())};
}

FailureOr<SmallVector<Value>> ConstantOp::localize(spmd::Localizer &localizer,
                                                   ValueRange) {
  OpBuilder &builder = localizer.getBuilder();
  RankedTensorType local = localizer.getLocalType(getResult());
  if (local.getShape() == getType().getShape())
    return SmallVector<Value>{create(builder, getLoc(), local, getValue())};
  auto plain = RankedTensorType::get(local.getShape(), local.getElementType());
  if (auto splat = dyn_cast<SplatElementsAttr>(getValue()))
    return SmallVector<Value>{
        create(builder, getLoc(), local, splat.resizeSplat(plain))};

  // Every device holds the whole constant, padded so that all blocks are full,
  // and slices its own block.
  const TensorSharding &sharding = localizer.getSharding(getResult());
  Emitter emit(builder, getLoc());
  SmallVector<int64_t> padded(getType().getShape());
  SmallVector<Value> starts;
  Value zero =
      emit.constant(0, RankedTensorType::get({}, builder.getIntegerType(32)));
  for (int64_t dim = 0, e = padded.size(); dim < e; ++dim) {
    padded[dim] = local.getDimSize(dim) * getSize(sharding.dims[dim].axes);
    Value begin = localizer.getBlockBegin(getResult(), dim);
    starts.push_back(begin ? begin : zero);
  }
  Value whole = create(
      builder, getLoc(),
      RankedTensorType::get(getType().getShape(), getType().getElementType()),
      getValue());
  if (ArrayRef<int64_t>(padded) != getType().getShape()) {
    SmallVector<int64_t> low(padded.size(), 0);
    Value scalarZero =
        emit.constant(0, RankedTensorType::get({}, local.getElementType()));
    whole = PadOp::create(builder, getLoc(),
                          RankedTensorType::get(padded, local.getElementType()),
                          whole, scalarZero, low);
  }
  return SmallVector<Value>{
      DynamicSliceOp::create(builder, getLoc(), local, whole, starts)};
}

//===----------------------------------------------------------------------===//
// IotaOp
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  if (int64_t(getDim()) < 0 || int64_t(getDim()) >= getType().getRank())
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "cannot count along dimension " << getDim()
           << " of a tensor of rank " << getType().getRank();
  return success();
}

ShardingRule IotaOp::getShardingRule() { return makeSourceRule(getType()); }
double IotaOp::getFlops(ArrayRef<int64_t>) { return 0; }

FailureOr<SmallVector<TensorValue>> IotaOp::evaluate(Evaluator &evaluator,
                                                     ArrayRef<TensorValue>) {
  return SmallVector<TensorValue>{evaluator.iota(getDim(), getType())};
}

FailureOr<SmallVector<Value>> IotaOp::localize(spmd::Localizer &localizer,
                                               ValueRange) {
  OpBuilder &builder = localizer.getBuilder();
  RankedTensorType local = localizer.getLocalType(getResult());
  Value iota = create(builder, getLoc(), local, getDim());
  Value begin = localizer.getBlockBegin(getResult(), getDim());
  if (!begin)
    return SmallVector<Value>{iota};
  Emitter emit(builder, getLoc());
  begin = emit.convert(begin, local.getElementType());
  Value offset =
      BroadcastOp::create(builder, getLoc(), local, begin, ArrayRef<int64_t>());
  return SmallVector<Value>{
      AddOp::create(builder, getLoc(), local, iota, offset)};
}

//===----------------------------------------------------------------------===//
// BroadcastOp
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (int64_t(getDims().size()) != input.getRank())
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "dims has " << getDims().size() << " entries, but the input has "
           << input.getRank() << " dimensions";
  int64_t last = -1;
  for (int64_t dim : getDims()) {
    if (dim <= last || dim >= getType().getRank())
      return tp::emitOpError(*this, ErrorCode::BadAttribute)
             << "expects dims to be dimensions of the result in ascending "
                "order, got ["
             << getDims() << "]";
    last = dim;
  }
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (input.getDimSize(i) != getType().getDimSize(dim))
      return tp::emitOpError(*this, ErrorCode::TypeMismatch)
             << "input dimension " << i << " of size " << input.getDimSize(i)
             << " cannot become result dimension " << dim << " of size "
             << getType().getDimSize(dim);
  return verifyElement(*this, getInput(), getResult());
}

ShardingRule BroadcastOp::getShardingRule() {
  RuleBuilder rule(1, 1);
  for (auto [dim, size] : llvm::enumerate(getType().getShape())) {
    unsigned factor = rule.addFactor(size);
    if (llvm::is_contained(getDims(), int64_t(dim)))
      rule.addDim(0, factor);
    rule.addDim(1, factor);
  }
  return rule.build();
}

FailureOr<SmallVector<TensorValue>>
BroadcastOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  return SmallVector<TensorValue>{
      evaluator.broadcast(operands[0], getDims(), getType())};
}

//===----------------------------------------------------------------------===//
// TransposeOp
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::verify() {
  RankedTensorType input = typeOf(getInput());
  llvm::SmallBitVector seen(input.getRank());
  if (int64_t(getPermutation().size()) != input.getRank())
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects the permutation to name every dimension of the input "
              "once";
  for (int64_t dim : getPermutation()) {
    if (dim < 0 || dim >= input.getRank() || seen.test(dim))
      return tp::emitOpError(*this, ErrorCode::BadAttribute)
             << "expects the permutation to name every dimension of the input "
                "once";
    seen.set(dim);
  }
  SmallVector<int64_t> shape;
  for (int64_t dim : getPermutation())
    shape.push_back(input.getDimSize(dim));
  if (getType().getShape() != ArrayRef<int64_t>(shape))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "result must be "
           << RankedTensorType::get(shape, input.getElementType());
  return verifyElement(*this, getInput(), getResult());
}

ShardingRule TransposeOp::getShardingRule() {
  RuleBuilder rule(1, 1);
  for (int64_t size : typeOf(getInput()).getShape())
    rule.addDim(0, rule.addFactor(size));
  for (int64_t dim : getPermutation())
    rule.addDim(1, unsigned(dim));
  return rule.build();
}

FailureOr<SmallVector<TensorValue>>
TransposeOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  return SmallVector<TensorValue>{
      evaluator.transpose(operands[0], getPermutation(), getType())};
}

//===----------------------------------------------------------------------===//
// ReshapeOp
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  if (typeOf(getInput()).getNumElements() != getType().getNumElements())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects input and result to have the same number of elements, "
              "got "
           << typeOf(getInput()).getNumElements() << " and "
           << getType().getNumElements();
  return verifyElement(*this, getInput(), getResult());
}

FailureOr<SmallVector<TensorValue>>
ReshapeOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  return SmallVector<TensorValue>{evaluator.reshape(operands[0], getType())};
}

//===----------------------------------------------------------------------===//
// SliceOp, ConcatOp, PadOp
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (int64_t(getStarts().size()) != input.getRank() ||
      int64_t(getStrides().size()) != input.getRank() ||
      getType().getRank() != input.getRank())
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects one start and one stride per dimension";
  for (int64_t i = 0; i < input.getRank(); ++i) {
    int64_t start = getStarts()[i], stride = getStrides()[i];
    if (start < 0 || stride < 1)
      return tp::emitOpError(*this, ErrorCode::BadAttribute)
             << "expects starts of at least 0 and strides of at least 1";
    int64_t size = getType().getDimSize(i);
    // Written so that huge strides cannot overflow.
    if (start > input.getDimSize(i) ||
        (size > 0 && (size - 1) > (input.getDimSize(i) - 1 - start) / stride))
      return tp::emitOpError(*this, ErrorCode::BadAttribute)
             << "a slice of " << size << " elements with start " << start
             << " and stride " << stride << " exceeds dimension " << i
             << ", which has size " << input.getDimSize(i);
  }
  return verifyElement(*this, getInput(), getResult());
}

ShardingRule SliceOp::getShardingRule() {
  RuleBuilder rule(1, 1);
  for (auto [from, to] :
       llvm::zip(typeOf(getInput()).getShape(), getType().getShape()))
    addPassOrWhole(rule, from, to, from == to);
  return rule.build();
}

FailureOr<SmallVector<TensorValue>>
SliceOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  return SmallVector<TensorValue>{
      evaluator.slice(operands[0], getStarts(), getStrides(), getType())};
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects at least one input";
  int64_t rank = getType().getRank();
  int64_t dim = getDim();
  for (Value input : getInputs()) {
    if (typeOf(input).getRank() != rank)
      return tp::emitOpError(*this, ErrorCode::TypeMismatch)
             << "expects inputs and result to have the same rank";
    if (failed(verifyElement(*this, input, getResult())))
      return failure();
  }
  if (dim < 0 || dim >= rank)
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "dim " << dim << " is out of range for a tensor of rank " << rank;
  int64_t total = 0;
  for (Value input : getInputs()) {
    for (int64_t i = 0; i < rank; ++i)
      if (i != dim && typeOf(input).getDimSize(i) != getType().getDimSize(i))
        return tp::emitOpError(*this, ErrorCode::TypeMismatch)
               << "expects inputs that agree with the result in all dimensions "
                  "except `dim`";
    total += typeOf(input).getDimSize(dim);
  }
  if (total != getType().getDimSize(dim))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "together, the inputs have " << total
           << " elements along dim, but the result has "
           << getType().getDimSize(dim);
  return success();
}

ShardingRule ConcatOp::getShardingRule() {
  unsigned inputs = getInputs().size();
  RuleBuilder rule(inputs, 1);
  for (auto [i, size] : llvm::enumerate(getType().getShape())) {
    unsigned factor = rule.addFactor(size, int64_t(i) == int64_t(getDim())
                                               ? FactorKind::Whole
                                               : FactorKind::PassThrough);
    for (auto [t, input] : llvm::enumerate(getInputs())) {
      bool own = int64_t(i) == int64_t(getDim());
      rule.addDim(t, own ? rule.addFactor(typeOf(input).getDimSize(i),
                                          FactorKind::Whole)
                         : factor);
    }
    rule.addDim(inputs, factor);
  }
  return rule.build();
}

FailureOr<SmallVector<TensorValue>>
ConcatOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  return SmallVector<TensorValue>{
      evaluator.concat(operands, getDim(), getType())};
}

LogicalResult PadOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (int64_t(getLow().size()) != input.getRank() ||
      getType().getRank() != input.getRank())
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects one entry of low per dimension";
  for (int64_t i = 0; i < input.getRank(); ++i) {
    if (getLow()[i] < 0)
      return tp::emitOpError(*this, ErrorCode::BadAttribute)
             << "expects each entry of low to be at least 0";
    if (getType().getDimSize(i) < input.getDimSize(i) ||
        getType().getDimSize(i) - input.getDimSize(i) < getLow()[i])
      return tp::emitOpError(*this, ErrorCode::TypeMismatch)
             << "result dimension " << i << " of size "
             << getType().getDimSize(i) << " is too small for " << getLow()[i]
             << " elements of padding and " << input.getDimSize(i)
             << " elements of the input";
  }
  if (typeOf(getValue()).getRank() != 0)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a scalar padding value, got " << getValue().getType();
  if (failed(verifyElement(*this, getValue(), getResult())))
    return failure();
  return verifyElement(*this, getInput(), getResult());
}

ShardingRule PadOp::getShardingRule() {
  RuleBuilder rule(2, 1);
  for (auto [from, to] :
       llvm::zip(typeOf(getInput()).getShape(), getType().getShape())) {
    bool pass = from == to;
    unsigned factor = rule.addFactor(from, pass ? FactorKind::PassThrough
                                                : FactorKind::Whole);
    rule.addDim(0, factor);
    rule.addDim(2, pass ? factor : rule.addFactor(to, FactorKind::Whole));
  }
  return rule.build();
}

FailureOr<SmallVector<TensorValue>>
PadOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  return SmallVector<TensorValue>{
      evaluator.pad(operands[0], operands[1], getLow(), getType())};
}
