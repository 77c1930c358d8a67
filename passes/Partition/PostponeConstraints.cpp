// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Partition/PostponeConstraints.h"

#include "dialects/TP/ShardingTable.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

/// Returns true if `op` can add or subtract partial operands element by
/// element.
static bool addsPartial(Operation *op) {
  auto linear = dyn_cast<LinearOpInterface>(op);
  return linear && op->hasTrait<Elementwise>() && op->getNumOperands() > 1 &&
         llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
           return linear.getLinearity(operand.getOperandNumber(),
                                      ReduceKind::Sum) == Linearity::Joint;
         });
}

/// Returns the constraint that computes an operand, if the constraint has no
/// other use and is in the same block as the op that has the operand. Otherwise
/// returns null.
static ConstraintOp getOwnConstraint(OpOperand &operand) {
  auto constraint = operand.get().getDefiningOp<ConstraintOp>();
  return constraint && constraint->hasOneUse() &&
                 constraint->getBlock() == operand.getOwner()->getBlock()
             ? constraint
             : nullptr;
}

static void postpone(Operation *op) {
  SmallVector<ConstraintOp> constraints =
      llvm::map_to_vector(op->getOpOperands(), getOwnConstraint);
  ConstraintOp first = constraints.front();
  if (!llvm::all_of(constraints, [&](ConstraintOp constraint) {
        return constraint && constraint.getSharding() == first.getSharding();
      }))
    return;
  Value sum = op->getResult(0);
  bool isAskedFor = llvm::all_of(sum.getUsers(), [&](Operation *user) {
    auto constraint = dyn_cast<ConstraintOp>(user);
    return constraint && constraint.getSharding() == first.getSharding();
  });
  if (!isAskedFor) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    auto later =
        ConstraintOp::create(builder, first.getLoc(), sum, first.getSharding());
    setSharding(later.getResult(), getSharding(first.getResult()));
    sum.replaceAllUsesExcept(later.getResult(), later);
  }
  for (auto [operand, constraint] :
       llvm::zip_equal(op->getOpOperands(), constraints)) {
    operand.set(constraint.getInput());
    constraint.erase();
  }
}

void tp::postponeConstraints(Operation *root) {
  SmallVector<Operation *> sums;
  root->walk([&](Operation *op) {
    if (addsPartial(op))
      sums.push_back(op);
  });
  // Visit sums in program order, so that a constraint can move past several of
  // them.
  for (Operation *op : sums)
    postpone(op);
}
