// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Replaces every reshard by the steps of its plan.

#include "dialects/TP/ShardingTable.h"
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
    // Types in a manual region cannot say that a buffer has padding.
    ReshardPlanner inManual(table.getMesh(), PlanEffort::Full, /*evenly=*/true);
    for (ReshardOp op : reshards)
      if (failed(expand(op, table,
                        op->getParentOfType<ManualOp>() ? inManual : planner)))
        return failure();
    return success();
  }

  LogicalResult expand(ReshardOp op, ShardingTable &table,
                       ReshardPlanner &planner) {
    auto type = cast<RankedTensorType>(op.getType());
    const TensorSharding *from = table.lookup(op.getInput());
    if (!from)
      return op.emitError() << prefix(ErrorCode::MissingSharding)
                            << "the input has no sharding, so it is not known "
                               "what to send: run tp-partition first";
    const TensorSharding &to = table.resolve(op.getSharding(), type.getRank());
    const ReshardPlan &plan =
        planner.plan(*from, to, type.getShape(), getElementBytes(type));
    LDBG() << op << ": " << plan.steps.size() << " steps";
    if (plan.fullyGathers())
      explainFullGather(op, *from, to, table);
    OpBuilder builder(op);
    Value value = op.getInput();
    TensorSharding at = *from;
    for (const ReshardStep &step : plan.steps) {
      value = createCollective(builder, op.getLoc(), value, table.getMesh(), at,
                               step);
      if (!isFree(step.kind))
        for (StringRef name : {kReasonAttr, kRequestedAttr})
          if (Attribute attribute = op->getAttr(name))
            value.getDefiningOp()->setAttr(name, attribute);
      at = step.result;
    }
    op.getResult().replaceAllUsesWith(value);
    op.erase();
    return success();
  }

  /// Never in silence: that devices hold a whole tensor which they need a part
  /// of is part of the reason.
  void explainFullGather(ReshardOp op, const TensorSharding &from,
                         const TensorSharding &to, ShardingTable &table) {
    std::string text;
    llvm::raw_string_ostream os(text);
    if (auto reason = op->getAttrOfType<StringAttr>(kReasonAttr))
      os << reason.getValue() << "; ";
    os << "the whole tensor is gathered, as no cheaper way leads from "
       << from.str(table.getMesh()) << " to " << to.str(table.getMesh());
    op->setAttr(kReasonAttr, StringAttr::get(op.getContext(), text));
  }
};

} // namespace
