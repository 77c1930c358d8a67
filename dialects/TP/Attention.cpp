// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scaled dot-product attention over grouped heads.

#include "AttentionForm.h"

#include "dialects/TP/ReverseMode.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir;
using namespace tp;

LogicalResult AttentionOp::verify() {
  if (failed(verifyAttention(*this, {getResult()})))
    return failure();
  return getLogsumexp() ? verifyRowValue(*this, getLogsumexp(), "logsumexp")
                        : success();
}

ShardingRule AttentionOp::getShardingRule() {
  return getAttentionRule(*this, "bskgd!,bt!kd,bt!ke",
                          getLogsumexp() ? "bskge,bskg" : "bskge");
}

double AttentionOp::getFlops(ArrayRef<int64_t> sizes) {
  return getAttentionFlops(*this, sizes, /*overD=*/1, /*overE=*/1);
}

SmallVector<Value> AttentionOp::decompose(OpBuilder &builder) {
  AttentionForm form(builder, *this);
  Emitter &emit = form.emit;
  Value scores = form.getScores();
  Value seen = form.getVisible(scores), zero, isEmpty;
  // Masked scores do not affect the maximum and have weight zero. In query rows
  // that see no key, the sum is zero, so it is replaced by 1 before dividing.
  Value masked = scores;
  if (seen) {
    Value lowest = emit.constant(-std::numeric_limits<float>::max(), scores);
    masked = emit.select(seen, scores, lowest);
  }
  Value max = emit.reduce(ReductionKind::Max, masked, 4);
  Value exp = emit.binary<SubOp>(scores, emit.repeatAlong(max, scores, 4));
  if (seen) {
    zero = emit.constant(0, scores);
    exp = emit.select(seen, exp, zero);
  }
  exp = emit.unary<ExpOp>(exp);
  if (seen)
    exp = emit.select(seen, exp, zero);
  Value sum = emit.reduce(ReductionKind::Sum, exp, 4);
  if (seen) {
    isEmpty = emit.compare(ComparePredicate::EQ, sum, emit.constant(0, sum));
    sum = emit.select(isEmpty, emit.constant(1, sum), sum);
  }
  Value weights = emit.binary<DivOp>(exp, emit.repeatAlong(sum, exp, 4));
  Value y =
      emit.einsum("bkgst,btke->bskge", form.round(weights, getValue()),
                  form.getFactor(getValue()), getResult().getType().getShape());
  SmallVector<Value> results{
      emit.convert(y, getResult().getType().getElementType())};
  if (getLogsumexp()) {
    if (seen)
      max = emit.select(isEmpty, emit.constant(0, max), max);
    Value logsumexp = emit.binary<AddOp>(max, emit.unary<LogOp>(sum));
    results.push_back(emit.transpose(logsumexp, {0, 3, 1, 2}));
  }
  return results;
}

FailureOr<SmallVector<Value>> AttentionOp::localize(spmd::Localizer &localizer,
                                                    ValueRange operands) {
  IRMapping mapping;
  mapping.map(getOperands(), operands);
  auto lookup = [&](Value value) {
    return value ? mapping.lookup(value) : Value();
  };
  auto typeOf = [&](Value value) {
    return value ? localizer.getLocalType(value) : RankedTensorType();
  };
  return llvm::to_vector_of<Value>(
      create(localizer.getBuilder(), getLoc(), typeOf(getResult()),
             typeOf(getLogsumexp()), lookup(getQuery()), lookup(getKey()),
             lookup(getValue()),
             getLocalOffset(*this, localizer, lookup(getOffset())),
             lookup(getLengths()), lookup(getMask()), getScaleAttr(),
             getCausalAttr(), getWindowAttr())
          ->getResults());
}
