// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradients of transformer ops that are shorter than those of what the ops
// decompose into: the maximum that a softmax subtracts has no part in them.

#include "dialects/TP/ReverseMode.h"

using namespace mlir;
using namespace tp;

LogicalResult SoftmaxOp::addGradients(ReverseMode &reverse) {
  // y (g - sum of g y).
  Emitter emit = reverse.getEmitter();
  unsigned dim = getDim();
  Value y = emit.widen(getResult());
  Value g = emit.widen(reverse.getGradient(getResult()));
  Value sum = emit.reduce(ReductionKind::Sum, emit.binary<MulOp>(g, y), dim);
  Value dx = emit.binary<MulOp>(
      y, emit.binary<SubOp>(g, emit.repeatAlong(sum, g, dim)));
  reverse.add(getInput(),
              emit.convert(dx, getInput().getType().getElementType()));
  return success();
}

LogicalResult CrossEntropyOp::addGradients(ReverseMode &reverse) {
  // g (softmax - 1 at the label), where weights are computed again from the
  // logits and never kept.
  Emitter emit = reverse.getEmitter();
  Value x = emit.widen(getLogits());
  unsigned last = Emitter::typeOf(x).getRank() - 1;
  Value g = emit.widen(reverse.getGradient(getResult()));
  Value hit = isLabel(emit, getLabels(), x);
  Value target = emit.select(hit, emit.constant(1, x), emit.constant(0, x));
  Value dx = emit.binary<MulOp>(
      emit.repeatAlong(g, x, last),
      emit.binary<SubOp>(emit.softmax(x, last), target));
  reverse.add(getLogits(),
              emit.convert(dx, getLogits().getType().getElementType()));
  return success();
}
