// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-keep-digest and tp-verify-structure: check that the partitioned global
// program computes the same as the program before partitioning.

#include "Digest.h"
#include "Stopwatch.h"

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Verify/Passes.h"

namespace tp {
#define GEN_PASS_DEF_KEEPDIGESTPASS
#define GEN_PASS_DEF_VERIFYSTRUCTUREPASS
#include "tpopt/Passes/Verify/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {

struct KeepDigest : tp::impl::KeepDigestPassBase<KeepDigest> {
  using KeepDigestPassBase::KeepDigestPassBase;

  void runOnOperation() override {
    Stopwatch stopwatch;
    markAllAnalysesPreserved(); // no verifier reads the attributes that change
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal() || !function.getFunctionBody().hasOneBlock())
        continue;
      KnownDigests known = KnownDigests::collect(function);
      function->setAttr(
          kDigestsAttr,
          DigestsAttr::get(&getContext(), known.results, known.values));
    }
    if (report)
      stopwatch.addTo(getOperation());
  }
};

struct VerifyStructure : tp::impl::VerifyStructurePassBase<VerifyStructure> {
  using VerifyStructurePassBase::VerifyStructurePassBase;

  void runOnOperation() override {
    Stopwatch stopwatch;
    markAllAnalysesPreserved(); // as above
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (failed(verify(function)))
        signalPassFailure();
    if (!report)
      return;
    stopwatch.addTo(getOperation(), Verified::Static);
  }

private:
  LogicalResult verify(FunctionOpInterface function) {
    auto digests = function->getAttrOfType<DigestsAttr>(kDigestsAttr);
    if (!digests)
      return success();
    function->removeAttr(kDigestsAttr);
    return KnownDigests{SmallVector<int64_t>(digests.getResults()),
                        digests.getValues().vec()}
        .verify(function);
  }
};

} // namespace
