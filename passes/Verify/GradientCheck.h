// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Checks the gradients among the results of a function.

#ifndef TPOPT_PASSES_VERIFY_GRADIENTCHECK_H
#define TPOPT_PASSES_VERIFY_GRADIENTCHECK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

struct GradientCheckOptions {
  std::string loss = "loss"; ///< The result that is differentiated.
  uint64_t seed = 1;         ///< Picks points and directions.
  /// How far the derivative and the inner product may differ, relative to the
  /// inner product of absolute values.
  double tolerance = 1e-8;
  bool shrinks = true; ///< Use sizes as small as the ops allow.
};

/// Compares the derivative of the loss along random directions with the inner
/// product of the gradients and the directions, at several points. The
/// gradients are the results with that role, which are named after an argument:
/// `w.grad`. A function without gradients passes. Emits an error that names a
/// wrong gradient.
mlir::LogicalResult checkGradients(mlir::func::FuncOp function,
                                   const GradientCheckOptions &options);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_GRADIENTCHECK_H
