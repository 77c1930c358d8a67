// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Nested manual regions.

#ifndef TPOPT_DIALECTS_SPMD_NESTING_H
#define TPOPT_DIALECTS_SPMD_NESTING_H

#include "tpopt/Dialect/SPMD/SPMD.h"

namespace tp::spmd {

/// The axes along which each device runs the code around `op` separately: those
/// of all enclosing manual regions. Empty outside of manual regions.
AxisList getManualAxesAround(mlir::Operation *op);

/// Inlines the body of a manual region, whose operands and results must have
/// the same types outside and inside, and erases the region op. Returns the
/// values that replace its results.
llvm::SmallVector<mlir::Value> inlineBody(ManualOp op);

} // namespace tp::spmd

#endif // TPOPT_DIALECTS_SPMD_NESTING_H
