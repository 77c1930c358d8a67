// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Gradients of transformer ops. They are shorter than the gradients of the ops'
// decompositions, because they do not involve the maximum that a softmax
// subtracts.

#include "dialects/TP/ReverseMode.h"

using namespace mlir;
using namespace tp;

LogicalResult SoftmaxOp::addGradients(ReverseMode &reverse) {
  // The gradient of the input is y (g - sum(g y)).
  Formulas f = reverse.getFormulas();
  unsigned dim = getDim();
  Value y = f.widen(getResult());
  Value g = f.widen(reverse.getGradient(getResult()));
  Value sum = f.reduce(ReductionKind::Sum, f.mul(g, y), dim);
  Value dx = f.mul(y, f.sub(g, f.repeatAlong(sum, g, dim)));
  reverse.add(getInput(), f.convert(dx, getInput().getType().getElementType()));
  return success();
}

LogicalResult CrossEntropyOp::addGradients(ReverseMode &reverse) {
  // The gradient of the logits is g (softmax - 1 at the label). Recompute the
  // softmax from the logits, so that it is never stored.
  Formulas f = reverse.getFormulas();
  Value x = f.widen(getLogits());
  unsigned last = typeOf(x).getRank() - 1;
  Value g = f.widen(reverse.getGradient(getResult()));
  Value hit = isLabel(f, getLabels(), x);
  Value target = f.select(hit, f.constant(1, x), f.constant(0, x));
  Value dx =
      f.mul(f.repeatAlong(g, x, last), f.sub(f.softmax(x, last), target));
  reverse.add(getLogits(),
              f.convert(dx, getLogits().getType().getElementType()));
  return success();
}
