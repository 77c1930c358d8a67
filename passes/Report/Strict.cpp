// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Rejects gathers and exchanges that were not requested, axes and plan entries
// that have no effect, and plans that do not fit into memory.

#include "lib/Report/BuildReport.h"
#include "lib/Report/Capacity.h"
#include "lib/Report/Sentences.h"
#include "lib/Report/UnusedAxes.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Report/Passes.h"

#include <cmath>

namespace tp {
#define GEN_PASS_DEF_STRICTPASS
#include "tpopt/Passes/Report/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::spmd;
using namespace tp::cost;

namespace {

struct Strict : tp::impl::StrictPassBase<Strict> {
  using StrictPassBase::StrictPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    bool ok = reportUnusedAxes(getOperation(), DiagnosticSeverity::Error) == 0;
    if (auto idle = getOperation()->getAttrOfType<ArrayAttr>(kIdleEntriesAttr))
      for (auto pattern : idle.getAsRange<StringAttr>()) {
        getOperation().emitError()
            << prefix(ErrorCode::IdlePlanEntry) << "the plan's entry "
            << pattern << " changes nothing: leave it out";
        ok = false;
      }
    auto machine = readMachineOption(getOperation(), "");
    if (failed(machine))
      return signalPassFailure();
    auto capacity = readMemoryOption(getOperation(), "", *machine);
    if (failed(capacity))
      return signalPassFailure();
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      FailureOr<MeshOp> mesh = tp::getMesh(function);
      if (failed(mesh))
        return signalPassFailure();
      ShardingTable table(&getContext(), mesh->toMesh());
      ok &= !reportTooLittleMemory(function, table, *capacity,
                                   DiagnosticSeverity::Error);
      // Report all unrequested collectives, so that they can be fixed at once.
      function->walk([&](Operation *op) {
        if (std::optional<CollectiveCost> launch = getCollectiveCost(op, table))
          ok &= succeeded(check(*launch, table));
      });
    }
    if (!ok)
      signalPassFailure();
  }

  /// The first value that a launch moves.
  static Value getMovedSource(const CollectiveCost &launch) {
    if (auto combined = dyn_cast<spmd::CombinedOp>(launch.op))
      for (auto [part, source] : llvm::enumerate(launch.sources))
        if (!isReduction(combined.getPartKind(part)))
          return source;
    return launch.source;
  }

  LogicalResult check(const CollectiveCost &launch, ShardingTable &table) {
    auto moves = [](const CollectiveShare &share) { return !share.reduce; };
    auto moved = llvm::find_if(launch.shares, moves);
    if (moved == launch.shares.end() || isRequested(launch.op))
      return success();
    double bytes = 0;
    for (const CollectiveShare &share :
         llvm::make_filter_range(launch.shares, moves))
      bytes += share.wireBytes;
    std::string axes;
    llvm::raw_string_ostream os(axes);
    printAxes(os, table.getMesh(), launch.axes, /*quoted=*/false);
    InFlightDiagnostic error = launch.op->emitError();
    error
        << prefix(ErrorCode::UnrequestedCollective)
        << tp::stringify(moved->kind) << ' ' << axes << " of '"
        << tp::getName(getMovedSource(launch)) << "', "
        << formatBytes(int64_t(std::ceil(bytes)))
        << " sent by every device, is not requested by an annotation; write an "
           "spmd.constraint that requests it, or a sharding that avoids it";
    if (std::string reason = describeWhy(launch.op, table); !reason.empty())
      error.attachNote() << "the collective is needed because of this: "
                         << reason;
    if (std::string advice = getAdvice(launch, table); !advice.empty())
      error.attachNote() << advice;
    return error;
  }
};

} // namespace
