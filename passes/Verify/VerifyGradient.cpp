// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-verify-gradient: compare gradients with the derivative along a direction.

#include "GradientCheck.h"

#include "dialects/TP/Interface.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Passes/Verify/Passes.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYGRADIENTPASS
#include "tpopt/Passes/Verify/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
struct VerifyGradient : tp::impl::VerifyGradientPassBase<VerifyGradient> {
  using VerifyGradientPassBase::VerifyGradientPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    GradientCheckOptions options{loss, seed, tolerance, !full};
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isEntry(function) && failed(checkGradients(function, options)))
        return signalPassFailure();
  }
};
} // namespace
