// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Smaller sizes for the local form of products that send some blocks
/// while they multiply others (tp.gather_einsum, tp.einsum_scatter). The blocks
/// keep their rows; all other dimensions shrink.

#ifndef TPOPT_PASSES_VERIFY_CHUNKSHRINKER_H
#define TPOPT_PASSES_VERIFY_CHUNKSHRINKER_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace tp {

/// Returns the shape of the result of `op` if its operands have the shapes
/// `operands`. `op` belongs to the local form of a tp.gather_einsum or
/// tp.einsum_scatter. For an einsum, the letters determine the shape. All other
/// ops keep each dimension except the rows, which they slice or stack:
///
///     spmd.block [8, 512] -> [2, 512]    with operand [8, 3]: [2, 3]
llvm::SmallVector<int64_t>
inferChunkShape(mlir::Operation *op,
                llvm::ArrayRef<llvm::SmallVector<int64_t>> operands);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_CHUNKSHRINKER_H
