// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Products of one activation with several weights as one product.
///
///     %q = einsum "bsd,dhk->bshk" %x, %wq       %w = concat %wq, %wk
///     %k = einsum "bsd,dhk->bshk" %x, %wk  ->   %y = einsum "bsd,dn->bsn" %x,
///     %w
///                                               %q, %k = slices of %y
///
/// One product starts one kernel and reads the activation once. The weights
/// stay inputs of their own, and the concatenation costs nothing: it is a
/// `step.bundle`, where they lie side by side. That holds for all entries that
/// take them, so they are joined only if all of them do it alike, and if
/// nothing else reads or overwrites them: weights that are trained stay apart.
/// So do products behind which the matrix library computes more than a bias,
/// such as an activation that only one of them has.

#ifndef TPOPT_PASSES_LOWER_JOINPRODUCTS_H
#define TPOPT_PASSES_LOWER_JOINPRODUCTS_H

#include "lib/Target/Target.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace tp {

/// Joins what can be joined in the entries of a module, which are legal for the
/// target.
void joinProducts(llvm::ArrayRef<mlir::func::FuncOp> functions,
                  const codegen::Target &target);

/// The rows of the bundle that a concatenation is; none if it is none.
std::optional<int64_t> getBundleRows(ConcatOp op);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_JOINPRODUCTS_H
