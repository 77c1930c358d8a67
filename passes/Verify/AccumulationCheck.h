// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Checks on random data that a step that loops over micro-batches computes the
// same as a step over the whole batch.

#ifndef TPOPT_PASSES_VERIFY_ACCUMULATIONCHECK_H
#define TPOPT_PASSES_VERIFY_ACCUMULATIONCHECK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Checks that `step` computes the same as `whole`, which has the same
/// arguments and results and differentiates once. Both run in doubles on random
/// data that gives micro-batches different weights: first on small sizes and,
/// if they differ there, on their own sizes. The operands of tp.sign have to
/// agree as well. The error names the first parameter, state or other result
/// that differs by more than rounding.
mlir::LogicalResult checkAccumulation(mlir::func::FuncOp step,
                                      mlir::func::FuncOp whole);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_ACCUMULATIONCHECK_H
