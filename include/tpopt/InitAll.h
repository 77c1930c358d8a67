// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Registers everything that a tool needs.

#ifndef TPOPT_INITALL_H
#define TPOPT_INITALL_H

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/Step/Step.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Collectives/Passes.h"
#include "tpopt/Passes/Differentiate/Passes.h"
#include "tpopt/Passes/Import/Passes.h"
#include "tpopt/Passes/Localize/Passes.h"
#include "tpopt/Passes/Lower/Passes.h"
#include "tpopt/Passes/Partition/Passes.h"
#include "tpopt/Passes/Pipelines/Pipelines.h"
#include "tpopt/Passes/Propagate/Passes.h"
#include "tpopt/Passes/Report/Passes.h"
#include "tpopt/Passes/Schedule/Passes.h"
#include "tpopt/Passes/Train/Passes.h"
#include "tpopt/Passes/Verify/Passes.h"

#include "mlir/IR/DialectRegistry.h"

namespace tp {

/// Registers the dialects of this project. Does not register the readers of
/// StableHLO and Shardy text, because a tool may register the real dialects
/// instead.
inline void registerTPOptDialects(mlir::DialectRegistry &registry) {
  registry.insert<TPDialect, spmd::SPMDDialect, step::StepDialect>();
}

/// All passes and pipelines.
inline void registerTPOptPasses() {
  registerTPOptImportPasses();
  registerTPOptDifferentiatePasses();
  registerTPOptTrainPasses();
  registerTPOptPropagatePasses();
  registerTPOptPartitionPasses();
  registerTPOptCollectivesPasses();
  registerTPOptLocalizePasses();
  registerTPOptLowerPasses();
  registerTPOptPipelinesPasses();
  registerTPOptPipelines();
  registerTPOptReportPasses();
  registerTPOptSchedulePasses();
  registerTPOptVerifyPasses();
}

} // namespace tp

#endif // TPOPT_INITALL_H
