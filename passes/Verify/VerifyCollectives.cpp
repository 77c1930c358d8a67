// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-keep-digest and tp-verify-collectives: the partitioned global program
// computes what the whole one did.

#include "Digest.h"
#include "Stopwatch.h"

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Verify/Passes.h"

#include "llvm/ADT/DenseSet.h"

namespace tp {
#define GEN_PASS_DEF_KEEPDIGESTPASS
#define GEN_PASS_DEF_VERIFYCOLLECTIVESPASS
#include "tpopt/Passes/Verify/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// On functions, between the two passes: the digests of the results, in order,
/// and those of all values, ascending.
static constexpr llvm::StringLiteral kResultDigestsAttr = "tp.result_digests";
static constexpr llvm::StringLiteral kDigestsAttr = "tp.digests";

namespace {

struct KeepDigest : tp::impl::KeepDigestPassBase<KeepDigest> {
  using KeepDigestPassBase::KeepDigestPassBase;

  void runOnOperation() override {
    Stopwatch stopwatch;
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal() || !function.getFunctionBody().hasOneBlock())
        continue;
      ProgramDigest digest;
      std::vector<int64_t> values;
      digest.compute(function, [&](Operation *, uint64_t value) {
        values.push_back(int64_t(value));
      });
      llvm::sort(values);
      values.erase(std::unique(values.begin(), values.end()), values.end());
      Builder builder(&getContext());
      SmallVector<int64_t> results(digest.getResults());
      function->setAttr(kResultDigestsAttr,
                        builder.getDenseI64ArrayAttr(results));
      function->setAttr(kDigestsAttr, builder.getDenseI64ArrayAttr(values));
    }
    if (report)
      stopwatch.addTo(getOperation());
  }
};

struct VerifyCollectives
    : tp::impl::VerifyCollectivesPassBase<VerifyCollectives> {
  using VerifyCollectivesPassBase::VerifyCollectivesPassBase;

  void runOnOperation() override {
    Stopwatch stopwatch;
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (failed(verify(function)))
        signalPassFailure();
    if (!report)
      return;
    getOperation()->setAttr(kVerifiedAttr,
                            StringAttr::get(&getContext(), "static"));
    stopwatch.addTo(getOperation());
  }

private:
  LogicalResult verify(FunctionOpInterface function) {
    auto wanted =
        function->getAttrOfType<DenseI64ArrayAttr>(kResultDigestsAttr);
    auto known = function->getAttrOfType<DenseI64ArrayAttr>(kDigestsAttr);
    if (!wanted || !known)
      return success();
    function->removeAttr(kResultDigestsAttr);
    function->removeAttr(kDigestsAttr);
    llvm::ArrayRef<int64_t> values = known.asArrayRef();
    Operation *first = nullptr;
    ProgramDigest digest;
    digest.compute(function, [&](Operation *op, uint64_t value) {
      if (!first && op &&
          !std::binary_search(values.begin(), values.end(), int64_t(value)))
        first = op;
    });
    SmallVector<int64_t> results(digest.getResults());
    if (ArrayRef<int64_t>(results) == wanted.asArrayRef())
      return success();
    if (first)
      return first->emitError()
             << prefix(ErrorCode::NotThePartition) << first->getName()
             << " computes what the whole program nowhere does";
    return function.emitError()
           << prefix(ErrorCode::NotThePartition) << "function '"
           << function.getName()
           << "' returns another value than in the whole program";
  }
};

} // namespace
