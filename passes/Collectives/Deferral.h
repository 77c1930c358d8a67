// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Ops that can wait with a collective whose result they take.
///
/// A gradient is summed, then transposed, narrowed, scaled and added to its
/// weight. If that waits, too, the sum can go with the sums of other gradients:
///
///     %s = spmd.all_reduce %g        %h, %t = .. other gradients ..
///     %w = tp.sub %weight, %s   =>   %s, .. = spmd.combined all_reduce %g, ..
///     %h, %t = ..                    %w = tp.sub %weight, %s

#ifndef TPOPT_PASSES_COLLECTIVES_DEFERRAL_H
#define TPOPT_PASSES_COLLECTIVES_DEFERRAL_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace tp {

/// Whether `op` can be put off until its operands that are `pending` are there:
/// it only moves elements, computes with each by itself, reduces, or writes
/// into a tensor in its place, and its other operands are held anyway. Gives
/// the ops that move with it: they compute an operand from values that are held
/// anyway, and `op` is their only user.
std::optional<llvm::SmallVector<mlir::Operation *, 2>>
findCompany(mlir::Operation *op,
            llvm::function_ref<bool(mlir::Value)> isPending);

/// Whether all that becomes of a value is that such ops write it into a tensor
/// that is held anyway: it is gone then, so that waiting takes memory.
bool isOnlyStored(mlir::Value value);

} // namespace tp

#endif // TPOPT_PASSES_COLLECTIVES_DEFERRAL_H
