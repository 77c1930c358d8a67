// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Import/StableHLO/StableHLO.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Import/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {
#define GEN_PASS_DEF_IMPORTSTABLEHLOPASS
#include "tpopt/Passes/Import/Passes.h.inc"
} // namespace tp

namespace {

struct ImportStableHLO : tp::impl::ImportStableHLOPassBase<ImportStableHLO> {
  void runOnOperation() override {
    if (!tp::hasStableHLO(getOperation()))
      return markAllAnalysesPreserved();
    if (failed(tp::importStableHLO(getOperation())))
      signalPassFailure();
  }
};

} // namespace
