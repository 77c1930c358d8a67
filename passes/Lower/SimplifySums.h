// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Reductions and contractions in the basic forms that have steps.
///
///     reduce sum %x dims = [0]      ->  reduce sum (transpose %x) dims = [1]
///     einsum "abc,cd->bd" %x, %w    ->  einsum "bc,cd->bd" (reduce sum %x), %w
///     einsum "a,a->a" %x, %y        ->  mul %x, %y

#ifndef TPOPT_PASSES_LOWER_SIMPLIFYSUMS_H
#define TPOPT_PASSES_LOWER_SIMPLIFYSUMS_H

#include "lib/Target/Target.h"
#include "tpopt/Dialect/TP/TP.h"

namespace tp {

/// Reduces over one dimension, the last: others move there and merge. Returns
/// the result.
mlir::Value simplifyReduce(ReduceOp op);

/// Leaves a contraction whose letters are in the result or in both operands, of
/// types that the matrix library multiplies; where it multiplies none, row
/// programs.
void simplifyEinsum(EinsumOp op, const codegen::Target &target);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_SIMPLIFYSUMS_H
