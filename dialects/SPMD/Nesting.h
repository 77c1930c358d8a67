// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Manual regions in one another.

#ifndef TPOPT_DIALECTS_SPMD_NESTING_H
#define TPOPT_DIALECTS_SPMD_NESTING_H

#include "tpopt/Dialect/SPMD/SPMD.h"

namespace tp::spmd {

/// The axes for which the code of `op` speaks of one place: those of all manual
/// regions around it. None outside of them.
AxisList getManualAxesAround(mlir::Operation *op);

/// Puts the body of a region in its place, whose values are those of the body,
/// and erases it. Returns what stands for its results.
llvm::SmallVector<mlir::Value> inlineBody(ManualOp op);

} // namespace tp::spmd

#endif // TPOPT_DIALECTS_SPMD_NESTING_H
