// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Collectives/Deferral.h"

#include "dialects/TP/ShardingTable.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;

/// Returns true for ops that move elements, compute element by element, or
/// reduce.
static bool isSimple(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !isPure(op))
    return false;
  if (auto collective = dyn_cast<spmd::CollectiveOpInterface>(op))
    return isFree(spmd::getStep(collective).kind);
  return op->hasTrait<Elementwise>() ||
         isa<ReshapeOp, TransposeOp, SliceOp, ReduceOp>(op);
}

/// Returns true if the value lives as long as the block, is a single number, or
/// costs nothing to recompute.
static bool isHeldAnyway(Value value, Block *block) {
  Operation *maker = value.getDefiningOp();
  return !maker || maker->getBlock() != block || maker->getNumOperands() == 0 ||
         cast<RankedTensorType>(value.getType()).getRank() == 0;
}

/// Returns true if `op` writes into a tensor that lives as long as the block,
/// as in a loop that stacks the results of its iterations.
static bool isStore(Operation *op) {
  auto update = dyn_cast<DynamicUpdateSliceOp>(op);
  return update && isHeldAnyway(update.getInput(), op->getBlock());
}

bool tp::isOnlyStored(Value value) {
  Block *block = value.getParentBlock();
  while (value.hasOneUse()) {
    Operation *user = *value.getUsers().begin();
    if (user->getBlock() != block)
      return false;
    if (isStore(user))
      return true;
    if (!isSimple(user))
      return false;
    value = user->getResult(0);
  }
  return false;
}

std::optional<SmallVector<Operation *, 2>>
tp::findCompany(Operation *op, llvm::function_ref<bool(Value)> isPending) {
  if (!isSimple(op) && !isStore(op) && !isa<EinsumOp>(op))
    return std::nullopt;
  SmallVector<Operation *, 2> company;
  for (Value operand :
       llvm::SetVector<Value>(op->operand_begin(), op->operand_end())) {
    if (isPending(operand) || isHeldAnyway(operand, op->getBlock()))
      continue;
    Operation *maker = operand.getDefiningOp();
    bool goesAlong = operand.hasOneUse() &&
                     (isSimple(maker) || isa<BroadcastOp>(maker)) &&
                     llvm::all_of(maker->getOperands(), [&](Value value) {
                       return isHeldAnyway(value, op->getBlock());
                     });
    if (!goesAlong)
      return std::nullopt;
    company.push_back(maker);
  }
  return company;
}
