// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What comes behind the gradients in a step of training.

#ifndef TPOPT_PASSES_TRAIN_STEP_H
#define TPOPT_PASSES_TRAIN_STEP_H

#include "Selection.h"

namespace tp {

/// Builds the gradients of the loss that `function` computes, by what is
/// trained.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
buildGradients(mlir::func::FuncOp function, const Selection &selection);

/// Makes `function`, which computes a loss and its gradients by what is
/// trained, a step of training by `recipe`: it takes the optimizer's state
/// besides, and gives new parameters and the new state in front of what it
/// gave. Failure after an error.
mlir::LogicalResult buildStep(mlir::func::FuncOp function, const Recipe &recipe,
                              const Selection &selection,
                              llvm::ArrayRef<mlir::Value> gradients);

} // namespace tp

#endif // TPOPT_PASSES_TRAIN_STEP_H
