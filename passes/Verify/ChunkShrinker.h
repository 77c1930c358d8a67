// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Sizes of the local form of products whose blocks travel
/// (tp.gather_einsum, tp.einsum_scatter), where those around are smaller. The
/// blocks keep their rows.

#ifndef TPOPT_PASSES_VERIFY_CHUNKSHRINKER_H
#define TPOPT_PASSES_VERIFY_CHUNKSHRINKER_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace tp {

/// The shape of the result of `op`, a step of such a form, if its operands have
/// the shapes `operands` in place of their own. For an einsum it follows from
/// the letters. What else there is leaves the last dimensions as they are but
/// for the rows, which it cuts or stacks:
///
///     spmd.block [8, 512] -> [2, 512], with [8, 3]: [2, 3]
llvm::SmallVector<int64_t>
inferChunkShape(mlir::Operation *op,
                llvm::ArrayRef<llvm::SmallVector<int64_t>> operands);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_CHUNKSHRINKER_H
