// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradients of transformer ops that are shorter than those of the ops'
// decompositions: they do not need the maximum that a softmax subtracts.

#include "dialects/TP/ReverseMode.h"

using namespace mlir;
using namespace tp;

LogicalResult SoftmaxOp::addGradients(ReverseMode &reverse) {
  // y (g - sum of g y).
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
  // g (softmax - 1 at the label), where weights are recomputed from the logits
  // and never stored.
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
