// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Proves the gradients among the results of a function.

#ifndef TPOPT_PASSES_VERIFY_GRADIENTCHECK_H
#define TPOPT_PASSES_VERIFY_GRADIENTCHECK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

struct GradientCheckOptions {
  std::string loss = "loss"; ///< The result that gradients are of.
  uint64_t seed = 1;         ///< Picks points and directions.
  /// How far the two may differ, of the inner product without signs.
  double tolerance = 1e-8;
  bool shrinks = true; ///< On sizes as small as the ops can have.
};

/// Compares the derivative of the loss along random directions with the inner
/// product of the gradients and the directions, at several points. The
/// gradients are the results of that role, called after an argument: `w.grad`.
/// Without any, nothing is wrong. Emits an error that names one that is.
mlir::LogicalResult checkGradients(mlir::func::FuncOp function,
                                   const GradientCheckOptions &options);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_GRADIENTCHECK_H
