// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Adds first, and asks for the layout of the sum.
///
/// Some frameworks annotate the layout of every value, also of each gradient
/// before gradients are added. Each gradient would get an all-reduce of its
/// own:
///
///     %a = spmd.constraint %x <S>           %c = tp.add %x, %y
///     %b = spmd.constraint %y <S>      =>   %d = spmd.constraint %c <S>
///     %c = tp.add %a, %b

#ifndef TPOPT_PASSES_PARTITION_POSTPONECONSTRAINTS_H
#define TPOPT_PASSES_PARTITION_POSTPONECONSTRAINTS_H

#include "mlir/IR/Operation.h"

namespace tp {

/// Moves constraints of equal layouts past the ops that add their results, if
/// nobody else takes these. Sums of partial values are partial again, so the
/// constraint can wait; what has its layout already has it then, too.
void postponeConstraints(mlir::Operation *root);

} // namespace tp

#endif // TPOPT_PASSES_PARTITION_POSTPONECONSTRAINTS_H
