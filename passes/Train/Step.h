// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The part of a training step that follows the gradients.

#ifndef TPOPT_PASSES_TRAIN_STEP_H
#define TPOPT_PASSES_TRAIN_STEP_H

#include "Selection.h"

namespace tp {

/// Builds the gradients of the loss that `function` computes, with respect to
/// the trained arguments.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
buildGradients(mlir::func::FuncOp function, const Selection &selection);

/// Turns `function`, which computes a loss and its gradients with respect to
/// the trained arguments, into a training step that follows `recipe`. The step
/// takes the optimizer's states as additional arguments, and returns the new
/// parameters and states before its other results. Fails after an error.
mlir::LogicalResult buildStep(mlir::func::FuncOp function, const Recipe &recipe,
                              const Selection &selection,
                              llvm::ArrayRef<mlir::Value> gradients);

} // namespace tp

#endif // TPOPT_PASSES_TRAIN_STEP_H
