// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Norms, softmax, rotary embedding and cross entropy.

#include "dialects/OpError.h"
#include "dialects/TP/Emitter.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// Verifies what both norms require: an input of rank 1 or more, parameters
/// with the shape of the input's last dimension, and a valid epsilon.
static LogicalResult verifyNorm(Operation *op, Value input,
                                ArrayRef<Value> parameters, APFloat epsilon) {
  RankedTensorType type = typeOf(input);
  if (type.getRank() == 0)
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects an input of rank 1 or more";
  for (Value parameter : parameters)
    if (typeOf(parameter).getShape() != type.getShape().take_back() ||
        typeOf(parameter).getElementType() != type.getElementType())
      return tp::emitOpError(op, ErrorCode::TypeMismatch)
             << "expects parameters of type "
             << RankedTensorType::get(type.getShape().take_back(),
                                      type.getElementType())
             << ", got " << parameter.getType();
  if (op->getResult(0).getType() != type)
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "result must have the input's type";
  if (epsilon.isNegative() || !epsilon.isFinite())
    return tp::emitOpError(op, ErrorCode::BadAttribute)
           << "expects an epsilon of at least 0";
  return success();
}

/// The mean over the last dimension. The result does not have this dimension.
static Value emitMean(Emitter &emit, Value x) {
  int64_t last = typeOf(x).getRank() - 1;
  Value sum = emit.reduce(ReductionKind::Sum, x, last);
  return emit.binary<MulOp>(
      sum, emit.constant(1.0 / typeOf(x).getDimSize(last), sum));
}

/// x * rsqrt(mean(x^2) + epsilon) over the last dimension.
static Value emitNormalised(Emitter &emit, Value x, double epsilon) {
  int64_t last = typeOf(x).getRank() - 1;
  Value variance = emitMean(emit, emit.binary<MulOp>(x, x));
  Value scale = emit.unary<RsqrtOp>(
      emit.binary<AddOp>(variance, emit.constant(epsilon, variance)));
  return emit.binary<MulOp>(x, emit.repeatAlong(scale, x, last));
}

/// Repeats the parameter `row`, which has the size of the last dimension, for
/// every row of `x`.
static Value emitRow(Emitter &emit, Value row, Value x) {
  return emit.broadcast(emit.widen(row), typeOf(x).getShape(),
                        {typeOf(x).getRank() - 1});
}

LogicalResult LayerNormOp::verify() {
  return verifyNorm(*this, getInput(), {getScale(), getBias()}, getEpsilon());
}

double LayerNormOp::getFlops(ArrayRef<int64_t> sizes) {
  return 8 * getVolume(sizes);
}

SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder) {
  Emitter emit(builder, getLoc());
  Value x = emit.widen(getInput());
  Value mean = emitMean(emit, x);
  Value centred =
      emit.binary<SubOp>(x, emit.repeatAlong(mean, x, typeOf(x).getRank() - 1));
  Value y = emitNormalised(emit, centred, getEpsilon().convertToDouble());
  y = emit.binary<MulOp>(y, emitRow(emit, getScale(), y));
  y = emit.binary<AddOp>(y, emitRow(emit, getBias(), y));
  return {emit.convert(y, getType().getElementType())};
}

LogicalResult RMSNormOp::verify() {
  return verifyNorm(*this, getInput(), {getScale()}, getEpsilon());
}

double RMSNormOp::getFlops(ArrayRef<int64_t> sizes) {
  return 5 * getVolume(sizes);
}

SmallVector<Value> RMSNormOp::decompose(OpBuilder &builder) {
  Emitter emit(builder, getLoc());
  Value x = emit.widen(getInput());
  Value y = emitNormalised(emit, x, getEpsilon().convertToDouble());
  y = emit.binary<MulOp>(y, emitRow(emit, getScale(), y));
  return {emit.convert(y, getType().getElementType())};
}

//===----------------------------------------------------------------------===//
// SoftmaxOp
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::verify() {
  if (int64_t(getDim()) < 0 || int64_t(getDim()) >= getType().getRank())
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "dim " << getDim() << " is out of range for a tensor of rank "
           << getType().getRank();
  return success();
}

ShardingRule SoftmaxOp::getShardingRule() {
  RuleBuilder rule(1, 1);
  for (auto [dim, size] : llvm::enumerate(getType().getShape())) {
    unsigned factor = rule.addFactor(size, int64_t(dim) == int64_t(getDim())
                                               ? FactorKind::Whole
                                               : FactorKind::PassThrough);
    rule.addDim(0, factor);
    rule.addDim(1, factor);
  }
  return rule.build();
}

double SoftmaxOp::getFlops(ArrayRef<int64_t> sizes) {
  return 5 * getVolume(sizes);
}

SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder) {
  Emitter emit(builder, getLoc());
  Value y = emit.softmax(emit.widen(getInput()), getDim());
  return {emit.convert(y, getType().getElementType())};
}

//===----------------------------------------------------------------------===//
// RotaryOp
//===----------------------------------------------------------------------===//

LogicalResult RotaryOp::verify() {
  RankedTensorType input = typeOf(getInput()), cos = typeOf(getCos());
  if (input.getRank() < 3)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects an input [batch, position, .., feature], got " << input;
  bool fits =
      cos == typeOf(getSin()) && cos.getRank() >= 2 && cos.getRank() <= 3;
  if (fits) {
    ArrayRef<int64_t> lead = cos.getShape().drop_back();
    fits = lead == input.getShape().take_front(2).take_back(lead.size()) &&
           cos.getShape().back() <= input.getShape().back() / 2;
  }
  if (!fits)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects cos and sin [position, h] or [batch, position, h], "
              "where 2h is at most "
           << input.getShape().back() << ", got " << cos << " and "
           << getSin().getType();
  if (getType() != input)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "result must have the input's type";
  return success();
}

ShardingRule RotaryOp::getShardingRule() {
  StringRef angles = typeOf(getCos()).getRank() == 2 ? "sh!" : "bsh!";
  return spmd::parseShardingRule(
      *this, ("bs...d!," + angles + "," + angles + "->bs...d").str());
}

double RotaryOp::getFlops(ArrayRef<int64_t> sizes) {
  // Three operations per element (six per pair). The volume includes factor h
  // of the angles, which the input does not have: divide by the size of h.
  return 3 * getVolume(sizes) / std::max<int64_t>(1, sizes.back());
}

SmallVector<Value> RotaryOp::decompose(OpBuilder &builder) {
  Emitter emit(builder, getLoc());
  Value x = emit.widen(getInput());
  SmallVector<int64_t> shape(typeOf(x).getShape());
  int64_t last = shape.size() - 1;
  int64_t half = typeOf(getCos()).getShape().back();

  // Repeats the angles of each feature pair for every head.
  auto spread = [&](Value angles) {
    Value wide = emit.convert(emit.widen(angles), typeOf(x).getElementType());
    SmallVector<int64_t> dims{1, last}, target(shape);
    if (typeOf(angles).getRank() == 3)
      dims.insert(dims.begin(), 0);
    target[last] = half;
    return emit.broadcast(wide, target, dims);
  };
  Value cos = spread(getCos()), sin = spread(getSin());

  auto part = [&](Value from, int64_t begin, int64_t size, int64_t stride) {
    SmallVector<int64_t> starts(shape.size(), 0), strides(shape.size(), 1);
    SmallVector<int64_t> sizes(typeOf(from).getShape());
    starts[last] = begin;
    strides[last] = stride;
    sizes[last] = size;
    return SliceOp::create(builder, getLoc(), Emitter::withShape(from, sizes),
                           from, starts, strides)
        .getResult();
  };
  int64_t step = getInterleaved() ? 2 : 1;
  Value a = part(x, 0, half, step);
  Value b = part(x, getInterleaved() ? 1 : half, half, step);
  Value ya = emit.binary<SubOp>(emit.binary<MulOp>(a, cos),
                                emit.binary<MulOp>(b, sin));
  Value yb = emit.binary<AddOp>(emit.binary<MulOp>(b, cos),
                                emit.binary<MulOp>(a, sin));
  SmallVector<Value> parts{ya, yb};
  if (getInterleaved()) {
    // Joins [.., h] and [.., h] to [.., h, 2], and reshapes that to [.., 2h].
    SmallVector<int64_t> pair(typeOf(ya).getShape()), joined(pair);
    pair.push_back(1);
    joined[last] = 2 * half;
    auto widenShape = [&](Value v) {
      return ReshapeOp::create(builder, getLoc(), Emitter::withShape(v, pair),
                               v)
          .getResult();
    };
    Value both = emit.concat({widenShape(ya), widenShape(yb)}, last + 1);
    parts = {ReshapeOp::create(builder, getLoc(),
                               Emitter::withShape(both, joined), both)};
  }
  if (2 * half < shape[last])
    parts.push_back(part(x, 2 * half, shape[last] - 2 * half, 1));
  Value y = parts.size() == 1 ? parts[0] : emit.concat(parts, last);
  return {emit.convert(y, getType().getElementType())};
}

//===----------------------------------------------------------------------===//
// CrossEntropyOp
//===----------------------------------------------------------------------===//

LogicalResult CrossEntropyOp::verify() {
  RankedTensorType logits = typeOf(getLogits());
  if (logits.getRank() == 0 ||
      typeOf(getLabels()).getShape() != logits.getShape().drop_back())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects labels shaped like the logits without the last "
              "dimension";
  if (getType().getShape() != logits.getShape().drop_back() ||
      getType().getElementType() != logits.getElementType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a result with the labels' shape and the logits' element "
              "type";
  return success();
}

double CrossEntropyOp::getFlops(ArrayRef<int64_t> sizes) {
  return 5 * getVolume(sizes);
}

Value tp::isLabel(Emitter &emit, Value labels, Value logits) {
  // Labels are compared with indices, so that a sharded vocabulary needs no
  // gather: one device finds the label, and the others find none. The
  // comparison uses at least 32 bits, as a vocabulary may exceed the range of a
  // narrow label type.
  Type type = typeOf(labels).getElementType();
  if (type.getIntOrFloatBitWidth() < 32)
    type = IntegerType::get(labels.getContext(), 32);
  unsigned last = typeOf(logits).getRank() - 1;
  Value index = emit.iota(last, typeOf(logits).getShape(), type);
  return emit.compare(
      ComparePredicate::EQ, index,
      emit.repeatAlong(emit.convert(labels, type), index, last));
}

SmallVector<Value> CrossEntropyOp::decompose(OpBuilder &builder) {
  Emitter emit(builder, getLoc());
  Value x = emit.widen(getLogits());
  int64_t last = typeOf(x).getRank() - 1;
  Value max = emit.reduce(ReductionKind::Max, x, last);
  Value shifted = emit.binary<SubOp>(x, emit.repeatAlong(max, x, last));
  Value sum = emit.reduce(ReductionKind::Sum, emit.unary<ExpOp>(shifted), last);
  Value hit = isLabel(emit, getLabels(), x);
  Value target = emit.reduce(ReductionKind::Sum,
                             emit.select(hit, x, emit.constant(0, x)), last);
  // Add the maximum here, not to `target`: for a label outside of the
  // vocabulary, `target` is zero.
  Value loss = emit.binary<AddOp>(emit.unary<LogOp>(sum),
                                  emit.binary<SubOp>(max, target));
  return {emit.convert(loss, getType().getElementType())};
}
