// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Finds ops that can wait along with a collective whose result they use.
///
/// A gradient is summed, then transposed, narrowed, scaled and added to its
/// weight. If these ops wait as well, the sum can be combined with the sums of
/// other gradients:
///
///     %s = spmd.all_reduce %g        %h, %t = .. other gradients ..
///     %w = tp.sub %weight, %s   =>   %s, .. = spmd.combined all_reduce %g, ..
///     %h, %t = ..                    %w = tp.sub %weight, %s

#ifndef TPOPT_PASSES_COLLECTIVES_DEFERRAL_H
#define TPOPT_PASSES_COLLECTIVES_DEFERRAL_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace tp {

/// Decides whether `op` can be put off until its pending operands are
/// available. It must only move elements, compute element by element, reduce,
/// or write into a tensor in place, and its other operands must stay in memory
/// anyway. A product can be put off, too, as the gradient of a weight that is
/// made of gathered tensors. Returns the ops that move with `op`: they compute
/// an operand from values that stay in memory anyway, and `op` is their only
/// user.
std::optional<llvm::SmallVector<mlir::Operation *, 2>>
findCompany(mlir::Operation *op,
            llvm::function_ref<bool(mlir::Value)> isPending);

/// Returns true if the value is only written into a tensor that stays in memory
/// anyway, perhaps after ops that move elements, compute element by element, or
/// reduce. Putting off a collective with such a result costs memory: the
/// operand is held longer, while the result would soon be freed.
bool isOnlyStored(mlir::Value value);

} // namespace tp

#endif // TPOPT_PASSES_COLLECTIVES_DEFERRAL_H
