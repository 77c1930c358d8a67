// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Proves that a step over micro-batches is one over all of them at once.

#ifndef TPOPT_PASSES_VERIFY_ACCUMULATIONCHECK_H
#define TPOPT_PASSES_VERIFY_ACCUMULATIONCHECK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Compares `step` with `whole`, which takes and gives the same and
/// differentiates once. Both are made small and computed in doubles, from
/// random data on, in which no two micro-batches count the same. What comes of
/// parameters, of states and of the loss is equal but for rounding, or an error
/// names it. On sizes as they are, if `shrinks` is false.
mlir::LogicalResult checkAccumulation(mlir::func::FuncOp step,
                                      mlir::func::FuncOp whole,
                                      bool shrinks = true);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_ACCUMULATIONCHECK_H
