// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradients of identity ops of the `spmd` dialect, which itself does not
// depend on gradients. An op that requests a sharding for a value requests the
// same sharding for the value's gradient.

#include "dialects/TP/ReverseMode.h"

using namespace mlir;
using namespace tp;

namespace {

struct ConstraintGradient
    : GradientOpInterface::ExternalModel<ConstraintGradient,
                                         spmd::ConstraintOp> {
  LogicalResult addGradients(Operation *op, ReverseMode &reverse) const {
    auto constraint = cast<spmd::ConstraintOp>(op);
    Value g = reverse.getGradient(constraint.getResult());
    reverse.add(constraint.getInput(),
                spmd::ConstraintOp::create(reverse.getBuilder(),
                                           reverse.getLoc(), g.getType(), g,
                                           constraint.getSharding()));
    return success();
  }
};

struct BarrierGradient
    : GradientOpInterface::ExternalModel<BarrierGradient, spmd::BarrierOp> {
  LogicalResult addGradients(Operation *op, ReverseMode &reverse) const {
    auto barrier = cast<spmd::BarrierOp>(op);
    // The gradient flows through the barrier in the opposite direction, so
    // reverse the direction that the barrier allows.
    StringRef allowed = barrier.getAllowedDirection();
    if (allowed == "forward" || allowed == "backward")
      allowed = allowed == "forward" ? "backward" : "forward";
    Value g = reverse.getGradient(barrier.getResult());
    reverse.add(barrier.getInput(),
                spmd::BarrierOp::create(reverse.getBuilder(), reverse.getLoc(),
                                        g.getType(), g, allowed));
    return success();
  }
};

} // namespace

void tp::registerIdentityGradients(MLIRContext *context) {
  spmd::ConstraintOp::attachInterface<ConstraintGradient>(*context);
  spmd::BarrierOp::attachInterface<BarrierGradient>(*context);
}
