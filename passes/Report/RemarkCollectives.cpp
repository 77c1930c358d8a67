// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits a remark for every collective.

#include "lib/Report/BuildReport.h"
#include "lib/Report/Sentences.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Report/Passes.h"

#include "mlir/IR/Remarks.h"

namespace tp {
#define GEN_PASS_DEF_REMARKCOLLECTIVESPASS
#include "tpopt/Passes/Report/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::spmd;
using namespace tp::cost;

namespace {

struct RemarkCollectives
    : tp::impl::RemarkCollectivesPassBase<RemarkCollectives> {
  using RemarkCollectivesPassBase::RemarkCollectivesPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    // Without a remark engine, remarks are not received.
    if (!getContext().getRemarkEngine())
      return;
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      FailureOr<MeshOp> mesh = tp::getMesh(function);
      if (failed(mesh))
        return signalPassFailure();
      ShardingTable table(&getContext(), mesh->toMesh());
      function->walk([&](Operation *op) {
        if (std::optional<CollectiveCost> launch = getCollectiveCost(op, table))
          emit(function, *launch, table);
      });
    }
  }

  void emit(FunctionOpInterface function, const CollectiveCost &launch,
            ShardingTable &table) {
    std::string name;
    llvm::raw_string_ostream os(name);
    os << launch.getName() << ' ';
    printAxes(os, table.getMesh(), launch.axes, /*quoted=*/false);
    os << " of " << tp::getName(launch.source);
    bool requested = isRequested(launch.op);
    std::string advice = getAdvice(launch, table);
    auto options = remark::RemarkOpts::name(name).category("tp-comm").function(
        function.getName());
    Location loc = launch.op->getLoc();
    auto remark = requested || advice.empty() ? remark::analysis(loc, options)
                                              : remark::missed(loc, options);
    if (!remark)
      return;
    std::string reason = describeWhy(launch.op, table);
    remark << remark::reason("{0}", reason.empty() ? "written in the program"
                                                   : reason);
    if (requested && !reason.empty())
      remark << remark::metric("AskedFor", true);
    else if (!requested && !advice.empty())
      remark << remark::suggest("{0}", advice);
    remark << remark::metric("bytes", launch.bytes)
           << remark::metric("wire_bytes", launch.wireBytes)
           << remark::metric("times", getTrips(launch.op).times);
  }
};

} // namespace
