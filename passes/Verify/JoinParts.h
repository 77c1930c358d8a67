// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Joins weights again that partitioning has split.

#ifndef TPOPT_PASSES_VERIFY_JOINPARTS_H
#define TPOPT_PASSES_VERIFY_JOINPARTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Makes `whole` take and return the parts of a tensor where `local` does: it
/// concatenates the parts that it takes, and slices the tensors that it
/// returns. Does not use the code that split them.
void joinParts(mlir::func::FuncOp whole, mlir::func::FuncOp local);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_JOINPARTS_H
