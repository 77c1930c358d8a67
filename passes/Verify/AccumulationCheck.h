// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Proves that a step over micro-batches is one over all of them at once.

#ifndef TPOPT_PASSES_VERIFY_ACCUMULATIONCHECK_H
#define TPOPT_PASSES_VERIFY_ACCUMULATIONCHECK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Checks that `step` computes what `whole` does, which has the same arguments
/// and results and differentiates once. Both run in doubles on random data, in
/// which micro-batches have different weights: on small sizes, and where they
/// differ there, on their own. The operands of tp.sign have to agree, too. The
/// error names the first parameter, state or other result that differs by more
/// than rounding.
mlir::LogicalResult checkAccumulation(mlir::func::FuncOp step,
                                      mlir::func::FuncOp whole);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_ACCUMULATIONCHECK_H
