// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Rejoins weights that partitioning has split.

#ifndef TPOPT_PASSES_VERIFY_JOINPARTS_H
#define TPOPT_PASSES_VERIFY_JOINPARTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Where `local` takes or returns the parts of a tensor instead of the tensor,
/// makes `whole` do the same: `whole` then concatenates parts that are
/// arguments, and slices tensors to return their parts. Shares no code with the
/// pass that split the tensors.
void joinParts(mlir::func::FuncOp whole, mlir::func::FuncOp local);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_JOINPARTS_H
