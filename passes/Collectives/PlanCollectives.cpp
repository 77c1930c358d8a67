// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Replaces every reshard by the steps of its plan.

#include "dialects/TP/ShardingTable.h"
#include "lib/Cost/PriceRecord.h"
#include "lib/Cost/ProgramCost.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Collectives/Passes.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tp-plan-collectives"

namespace tp {
#define GEN_PASS_DEF_PLANCOLLECTIVESPASS
#include "tpopt/Passes/Collectives/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::cost;
using namespace tp::spmd;

/// Adds a note to `why` that devices hold a whole tensor although they need
/// only a part of it, since that must never happen silently.
static WhyAttr withFullGather(ReshardOp op, WhyAttr why, ShardingAttr from,
                              ShardingAttr to) {
  MLIRContext *context = op.getContext();
  if (!why)
    return WhyAttr::get(context,
                        ReasonAttr::get(context, ReasonKind::Written,
                                        op->getName().getIdentifier(),
                                        /*axes=*/{}, ReduceKind::Sum, from, to),
                        /*requested=*/false);
  SmallVector<ReasonAttr> reasons;
  for (ReasonAttr reason : why.getReasons())
    reasons.push_back(ReasonAttr::get(context, reason.getKind(),
                                      reason.getUser(), reason.getAxes(),
                                      reason.getReduce(), from, to));
  return WhyAttr::get(context, reasons, why.getRequested());
}

namespace {

struct PlanCollectives : tp::impl::PlanCollectivesPassBase<PlanCollectives> {
  using PlanCollectivesPassBase::PlanCollectivesPassBase;

  void runOnOperation() override {
    auto device = readMachineOption(getOperation(), machine);
    if (failed(device))
      return signalPassFailure();
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (!function.isExternal() && failed(runOnFunction(function, *device)))
        return signalPassFailure();
  }

  LogicalResult runOnFunction(FunctionOpInterface function,
                              const std::optional<Machine> &device) {
    SmallVector<ReshardOp> reshards;
    function->walk([&](ReshardOp op) { reshards.push_back(op); });
    if (reshards.empty())
      return success();
    FailureOr<MeshOp> mesh = tp::getMesh(function);
    if (failed(mesh))
      return failure();
    ShardingTable table(&getContext(),
                        withMachineLinks(mesh->toMesh(), device));
    ReshardPlanner planner(table.getMesh());
    // Types in a manual region cannot express that a buffer has padding.
    ReshardPlanner inManual(table.getMesh(), /*evenly=*/true);
    for (ReshardOp op : reshards)
      if (failed(expand(op, table,
                        op->getParentOfType<ManualOp>() ? inManual : planner)))
        return failure();
    recordChange(function, PriceKind::Steps, reshards.size(), table, device);
    return success();
  }

  LogicalResult expand(ReshardOp op, ShardingTable &table,
                       ReshardPlanner &planner) {
    auto type = cast<RankedTensorType>(op.getType());
    const TensorSharding *from = table.lookup(op.getInput());
    if (!from)
      return op.emitError() << prefix(ErrorCode::MissingSharding)
                            << "the input has no sharding, so the collectives "
                               "cannot be planned: run tp-partition first";
    const TensorSharding &to = table.resolve(op.getSharding(), type.getRank());
    const ReshardPlan &plan =
        planner.plan(*from, to, type.getShape(), getElementBytes(type));
    LDBG() << op << ": " << plan.steps.size() << " steps";
    auto why = op->getAttrOfType<WhyAttr>(kWhyAttr);
    if (plan.fullyGathers())
      why = withFullGather(op, why, table.toAttr(*from), table.toAttr(to));
    OpBuilder builder(op);
    Value value = op.getInput();
    TensorSharding at = *from;
    for (const ReshardStep &step : plan.steps) {
      value = createCollective(builder, op.getLoc(), value, table.getMesh(), at,
                               step);
      if (why && !isFree(step.kind))
        value.getDefiningOp()->setAttr(kWhyAttr, why);
      at = step.result;
    }
    op.getResult().replaceAllUsesWith(value);
    op.erase();
    return success();
  }
};

} // namespace
