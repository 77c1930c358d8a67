// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Brings reductions and contractions into the basic forms that lower to
/// steps.
///
///     reduce sum %x dims = [0]      ->  reduce sum (transpose %x) dims = [1]
///     einsum "abc,cd->bd" %x, %w    ->  einsum "bc,cd->bd" (reduce sum %x), %w
///     einsum "a,a->a" %x, %y        ->  mul %x, %y

#ifndef TPOPT_PASSES_LOWER_SIMPLIFYSUMS_H
#define TPOPT_PASSES_LOWER_SIMPLIFYSUMS_H

#include "lib/Target/Target.h"
#include "tpopt/Dialect/TP/TP.h"

namespace tp {

/// Reduces over the last dimension only: other reduced dimensions are moved
/// there and merged. Returns the result.
mlir::Value simplifyReduce(ReduceOp op);

/// Brings a contraction into a form in which each letter is in the result or in
/// both operands, with element types that the matrix library supports.
/// Contractions that the library cannot compute become row programs.
void simplifyEinsum(EinsumOp op, const codegen::Target &target);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_SIMPLIFYSUMS_H
