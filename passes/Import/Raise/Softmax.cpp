// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Softmax: exponentials divided by their sum, with or without subtracting the
// maximum first.

#include "Patterns.h"

using namespace mlir;
using namespace tp;
using namespace tp::raise;

std::optional<Match> tp::raise::matchSoftmax(Operation *root) {
  if (!isa<DivOp>(root) || !isWide(elementOf(root->getResult(0))))
    return std::nullopt;
  BroadcastOperand weights = BroadcastOperand::of(root->getOperand(0)),
                   sum = BroadcastOperand::of(root->getOperand(1));
  if (!weights.as<ExpOp>())
    return std::nullopt;
  std::optional<int64_t> dim = getReducedDim(sum, ReductionKind::Sum, weights);
  if (!dim)
    return std::nullopt;
  BroadcastOperand input = weights.operand(0);
  // A subtraction of anything but the maximum remains in the softmax's input.
  if (input.as<SubOp>() && getReducedDim(input.operand(1), ReductionKind::Max,
                                         input.operand(0)) == dim)
    input = input.operand(0);

  Match match{"softmax", root, {input.getSource()}, {}};
  auto type = typeOf(root->getResult(0));
  match.build = [input, type, dim = *dim](OpBuilder &builder,
                                          Location loc) -> Value {
    Emitter emit(builder, loc);
    return SoftmaxOp::create(builder, loc, type,
                             input.materialize(emit, type.getShape()), dim);
  };
  return match;
}
