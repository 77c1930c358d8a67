// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Moves constraints from addends to their sum.
///
/// Some frameworks annotate the layout of every value, including each gradient
/// before gradients are added. Then each gradient would get its own all-reduce:
///
///     %a = spmd.constraint %x <S>           %c = tp.add %x, %y
///     %b = spmd.constraint %y <S>      =>   %d = spmd.constraint %c <S>
///     %c = tp.add %a, %b

#ifndef TPOPT_PASSES_PARTITION_POSTPONECONSTRAINTS_H
#define TPOPT_PASSES_PARTITION_POSTPONECONSTRAINTS_H

#include "mlir/IR/Operation.h"

namespace tp {

/// If all operands of an addition come from constraints of the same layout,
/// moves the constraint from the operands to the sum. The constraints must have
/// no other uses. Sums of partial values are again partial, so the constraint
/// can wait. An addend that has the layout even without its constraint passes
/// the layout on to the sum.
void postponeConstraints(mlir::Operation *root);

} // namespace tp

#endif // TPOPT_PASSES_PARTITION_POSTPONECONSTRAINTS_H
