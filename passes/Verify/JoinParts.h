// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Weights that partitioning has split, joined again.

#ifndef TPOPT_PASSES_VERIFY_JOINPARTS_H
#define TPOPT_PASSES_VERIFY_JOINPARTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Makes `whole` take and give the parts of a tensor where `local` does: what
/// it takes is their concatenation, what it gives slices. It does not use the
/// code that split them.
void joinParts(mlir::func::FuncOp whole, mlir::func::FuncOp local);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_JOINPARTS_H
