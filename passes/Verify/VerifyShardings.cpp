// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-verify-shardings: check every op's shardings against its rule.

#include "Digest.h"
#include "RuleCheck.h"
#include "Stopwatch.h"

#include "dialects/TP/Interface.h"
#include "dialects/TP/ShardingTable.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Verify/Passes.h"

#include "llvm/ADT/DenseSet.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYSHARDINGSPASS
#include "tpopt/Passes/Verify/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

namespace {
struct VerifyShardings : tp::impl::VerifyShardingsPassBase<VerifyShardings> {
  using VerifyShardingsPassBase::VerifyShardingsPassBase;

  void runOnOperation() override {
    Stopwatch stopwatch;
    markAllAnalysesPreserved();
    // The local functions of certified partitions. They are skipped: only the
    // global functions are verified here.
    llvm::DenseSet<StringAttr> localForms;
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (auto name =
              function->getAttrOfType<FlatSymbolRefAttr>(kLocalFormAttr))
        localForms.insert(name.getAttr());
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (!function.isExternal() && !localForms.count(function.getNameAttr()) &&
          failed(verify(function)))
        return signalPassFailure();
    if (report)
      stopwatch.addTo(getOperation());
  }

private:
  LogicalResult verify(FunctionOpInterface function) {
    FailureOr<MeshOp> op = tp::getMesh(function);
    if (failed(op))
      return failure();
    ShardingTable table(&getContext(), op->toMesh());
    // Equal ops with equal shardings are checked only once. Keys are shortened,
    // because the set reserves the two greatest numbers.
    llvm::DenseSet<uint64_t> known;
    auto result = function->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto manual = dyn_cast<ManualOp>(op);
          manual && getFreeAxes(manual, table.getMesh()).empty())
        return WalkResult::skip();
      // Skip ops that change a layout: their own verifiers check the layout.
      auto collective = dyn_cast<CollectiveOpInterface>(op);
      if (!isa<ShardingRuleOpInterface>(op) || isa<ReshardOp>(op) ||
          (collective && !isAlongManualAxes(collective)))
        return WalkResult::advance();
      uint64_t key = digestOpAlone(op);
      auto add = [&](const void *what) {
        key = mixDigest(key, reinterpret_cast<uintptr_t>(what));
      };
      SmallVector<Value> values(op->getOperands());
      llvm::append_range(values, op->getResults());
      for (Value value : values) {
        add(value.getType().getAsOpaquePointer());
        add(getSharding(value).getAsOpaquePointer());
      }
      if (!known.insert(key >> 2).second)
        return WalkResult::advance();
      std::vector<TensorSharding> shardings;
      for (Value value : values) {
        const TensorSharding *sharding = table.lookup(value);
        if (!sharding) {
          op->emitError() << prefix(ErrorCode::MissingSharding)
                          << tp::getName(value) << " has no sharding";
          return WalkResult::interrupt();
        }
        shardings.push_back(*sharding);
      }
      return failed(
                 verifyRule(op, table.getMesh(), shardings, /*isLocal=*/false))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }
};
} // namespace
