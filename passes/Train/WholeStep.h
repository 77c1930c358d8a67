// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A step that differentiates the loss of all its micro-batches at once.

#ifndef TPOPT_PASSES_TRAIN_WHOLESTEP_H
#define TPOPT_PASSES_TRAIN_WHOLESTEP_H

#include "Selection.h"

namespace tp {

/// Turns `function`, which computes the loss of one micro-batch, into a step
/// over all micro-batches of `recipe`. It differentiates their total loss once,
/// whereas `accumulate` adds up one gradient per micro-batch. Both steps have
/// the same arguments and results but share no code, so that one verifies the
/// other. Fails after an error.
mlir::LogicalResult buildWholeStep(mlir::func::FuncOp function,
                                   const Recipe &recipe,
                                   const Selection &selection);

} // namespace tp

#endif // TPOPT_PASSES_TRAIN_WHOLESTEP_H
