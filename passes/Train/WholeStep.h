// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A step that differentiates the loss of all its micro-batches at once.

#ifndef TPOPT_PASSES_TRAIN_WHOLESTEP_H
#define TPOPT_PASSES_TRAIN_WHOLESTEP_H

#include "Selection.h"

namespace tp {

/// Makes `function`, which computes the loss of a micro-batch, a step over all
/// that `recipe` has: their loss is one program, of which there is one
/// gradient. The interface is that of a step whose gradients `accumulate` has
/// made. Nothing of that is used here, so that the one proves the other.
/// Failure after an error.
mlir::LogicalResult buildWholeStep(mlir::func::FuncOp function,
                                   const Recipe &recipe,
                                   const Selection &selection);

} // namespace tp

#endif // TPOPT_PASSES_TRAIN_WHOLESTEP_H
