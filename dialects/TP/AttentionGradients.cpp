// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradients of attention, from the log-sum-exp of each row: the weights are
// recomputed and never stored (FlashAttention-2, arXiv:2307.08691).

#include "AttentionForm.h"

#include "dialects/OpError.h"
#include "dialects/TP/ReverseMode.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

/// If `op` has no log-sum-exp, replaces it by an equal op that has one. Returns
/// the op with the log-sum-exp.
static AttentionOp getWithLogSumExp(AttentionOp op, ReverseMode &reverse) {
  if (op.getLogsumexp())
    return op;
  OpBuilder builder(op);
  auto whole = AttentionOp::create(
      builder, op.getLoc(), op.getResult().getType(), getRowType(op),
      op.getQuery(), op.getKey(), op.getValue(), op.getOffset(),
      op.getLengths(), op.getMask(), op.getScaleAttr(), op.getCausalAttr(),
      op.getWindowAttr());
  op.getResult().replaceAllUsesWith(whole.getResult());
  reverse.eraseLater(op);
  return whole;
}

LogicalResult AttentionOp::addGradients(ReverseMode &reverse) {
  Value gradient = reverse.getOrZero(getResult());
  Value ofLogSumExp =
      getLogsumexp() ? reverse.getGradient(getLogsumexp()) : Value();
  AttentionOp whole = getWithLogSumExp(*this, reverse);
  Emitter emit = reverse.getEmitter();
  // The derivative of the log-sum-exp with respect to a score is the weight, so
  // the gradient of the log-sum-exp is subtracted from delta.
  Type wide = typeOf(whole.getLogsumexp()).getElementType();
  Value delta =
      emit.reduce(ReductionKind::Sum,
                  emit.binary<MulOp>(emit.convert(gradient, wide),
                                     emit.convert(whole.getResult(), wide)),
                  4);
  if (ofLogSumExp)
    delta = emit.binary<SubOp>(delta, ofLogSumExp);
  OpBuilder &builder = reverse.getBuilder();
  if (reverse.isWanted(getQuery()))
    reverse.add(getQuery(),
                AttentionQueryGradientOp::create(
                    builder, reverse.getLoc(), getQuery().getType(), getQuery(),
                    getKey(), getValue(), gradient, whole.getLogsumexp(), delta,
                    getOffset(), getLengths(), getMask(), getScaleAttr(),
                    getCausalAttr(), getWindowAttr()));
  if (!reverse.isWanted(getKey()) && !reverse.isWanted(getValue()))
    return success();
  auto both = AttentionKeyValueGradientOp::create(
      builder, reverse.getLoc(), getKey().getType(), getValue().getType(),
      getQuery(), getKey(), getValue(), gradient, whole.getLogsumexp(), delta,
      getOffset(), getLengths(), getMask(), getScaleAttr(), getCausalAttr(),
      getWindowAttr());
  reverse.add(getKey(), both.getKeyGradient());
  reverse.add(getValue(), both.getValueGradient());
  return success();
}

//===----------------------------------------------------------------------===//
// Common parts of both gradients
//===----------------------------------------------------------------------===//

template <typename OpT> static LogicalResult verifyGradient(OpT op) {
  if (failed(verifyAttention(op, {op.getGradient()})) ||
      failed(verifyRowValue(op, op.getLogsumexp(), "logsumexp")))
    return failure();
  return verifyRowValue(op, op.getDelta(), "delta");
}

/// Emits an error unless the gradient `result` has the shape and element type
/// of `operand`. Their encodings may differ: on a device, the gradient may be a
/// partial sum while the operand is not.
static LogicalResult verifyLike(Operation *op, Value result, Value operand,
                                StringRef name) {
  RankedTensorType type = typeOf(result), wanted = typeOf(operand);
  if (type.getShape() == wanted.getShape() &&
      type.getElementType() == wanted.getElementType())
    return success();
  return tp::emitOpError(op, ErrorCode::TypeMismatch)
         << "expects the gradient of the " << name
         << " to have the type of the " << name << ", " << operand.getType()
         << ", got " << result.getType();
}

template <typename OpT>
static SmallVector<Value> localizeGradient(OpT op, spmd::Localizer &localizer,
                                           ArrayRef<Value> operands) {
  IRMapping mapping;
  mapping.map(op->getOperands(), operands);
  auto lookup = [&](Value value) {
    return value ? mapping.lookup(value) : Value();
  };
  SmallVector<Type> types;
  for (Value result : op->getResults())
    types.push_back(localizer.getLocalType(result));
  return llvm::to_vector_of<Value>(
      OpT::create(localizer.getBuilder(), op.getLoc(), TypeRange(types),
                  lookup(op.getQuery()), lookup(op.getKey()),
                  lookup(op.getValue()), lookup(op.getGradient()),
                  lookup(op.getLogsumexp()), lookup(op.getDelta()),
                  getLocalOffset(op, localizer, lookup(op.getOffset())),
                  lookup(op.getLengths()), lookup(op.getMask()),
                  op.getScaleAttr(), op.getCausalAttr(), op.getWindowAttr())
          ->getResults());
}

namespace {

/// The recomputed weights, and the gradients with respect to the scores, both
/// over [b,k,g,s,t].
struct Slopes {
  template <typename OpT> Slopes(AttentionForm &form, OpT op);

  Value weights, slopes;
};

} // namespace

template <typename OpT> Slopes::Slopes(AttentionForm &form, OpT op) {
  Emitter &emit = form.emit;
  Value scores = form.getScores();
  Value seen = form.getVisible(scores);
  Value shifted = emit.binary<SubOp>(scores, form.repeat(op.getLogsumexp()));
  Value zero = emit.constant(0, scores);
  weights =
      emit.unary<ExpOp>(seen ? emit.select(seen, shifted, zero) : shifted);
  if (seen)
    weights = emit.select(seen, weights, zero);
  Value ofWeights =
      emit.einsum("bskge,btke->bkgst", emit.widen(op.getGradient()),
                  emit.widen(op.getValue()), typeOf(scores).getShape());
  slopes = emit.binary<MulOp>(
      weights, emit.binary<SubOp>(ofWeights, form.repeat(op.getDelta())));
  slopes = emit.binary<MulOp>(
      slopes, emit.constant(op.getScale().convertToDouble(), slopes));
}

//===----------------------------------------------------------------------===//
// AttentionQueryGradientOp
//===----------------------------------------------------------------------===//

LogicalResult AttentionQueryGradientOp::verify() {
  if (failed(verifyGradient(*this)))
    return failure();
  return verifyLike(*this, getResult(), getQuery(), "query");
}

ShardingRule AttentionQueryGradientOp::getShardingRule() {
  return getAttentionRule(*this, "bskgd!,bt!kd,bt!ke!,bskge,bskg,bskg",
                          "bskgd");
}

double AttentionQueryGradientOp::getFlops(ArrayRef<int64_t> sizes) {
  return getAttentionFlops(*this, sizes, /*overD=*/2, /*overE=*/1);
}

SmallVector<Value> AttentionQueryGradientOp::decompose(OpBuilder &builder) {
  AttentionForm form(builder, *this);
  Slopes made(form, *this);
  Value y = form.emit.einsum(
      "bkgst,btkd->bskgd", form.round(made.slopes, getKey()),
      form.getFactor(getKey()), getResult().getType().getShape());
  return {form.emit.convert(y, getResult().getType().getElementType())};
}

FailureOr<SmallVector<Value>>
AttentionQueryGradientOp::localize(spmd::Localizer &localizer,
                                   ValueRange operands) {
  return localizeGradient(*this, localizer, llvm::to_vector(operands));
}

//===----------------------------------------------------------------------===//
// AttentionKeyValueGradientOp
//===----------------------------------------------------------------------===//

LogicalResult AttentionKeyValueGradientOp::verify() {
  if (failed(verifyGradient(*this)) ||
      failed(verifyLike(*this, getKeyGradient(), getKey(), "key")))
    return failure();
  return verifyLike(*this, getValueGradient(), getValue(), "value");
}

ShardingRule AttentionKeyValueGradientOp::getShardingRule() {
  return getAttentionRule(*this, "bskgd!,bt!kd,bt!ke!,bskge,bskg,bskg",
                          "btkd,btke");
}

double AttentionKeyValueGradientOp::getFlops(ArrayRef<int64_t> sizes) {
  return getAttentionFlops(*this, sizes, /*overD=*/2, /*overE=*/2);
}

SmallVector<Value> AttentionKeyValueGradientOp::decompose(OpBuilder &builder) {
  AttentionForm form(builder, *this);
  Slopes made(form, *this);
  auto multiply = [&](StringRef equation, Value weights, Value rows,
                      RankedTensorType type) {
    Value y = form.emit.einsum(equation, form.round(weights, rows),
                               form.getFactor(rows), type.getShape());
    return form.emit.convert(y, type.getElementType());
  };
  return {multiply("bkgst,bskgd->btkd", made.slopes, getQuery(),
                   getKeyGradient().getType()),
          multiply("bkgst,bskge->btke", made.weights, getGradient(),
                   getValueGradient().getType())};
}

FailureOr<SmallVector<Value>>
AttentionKeyValueGradientOp::localize(spmd::Localizer &localizer,
                                      ValueRange operands) {
  // Rows that pad a block must add nothing: all values of such a row are set to
  // zero.
  auto masked = llvm::to_vector(operands);
  for (auto [value, local] : llvm::zip(getOperands(), masked))
    if (value == getQuery() || value == getGradient() ||
        value == getLogsumexp() || value == getDelta())
      local = localizer.maskPadding(local, {1, 3}, ReduceKind::Sum);
  return localizeGradient(*this, localizer, masked);
}
