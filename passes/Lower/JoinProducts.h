// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Joins products of one activation with several weights into one
/// product.
///
///   %q = einsum "bsd,dhk->bshk" %x, %wq     %w = concat %wq, %wk
///   %k = einsum "bsd,dhk->bshk" %x, %wk ->  %y = einsum "bsd,dn->bsn" %x, %w
///                                           %q, %k = slices of %y
///
/// One product launches one kernel and reads the activation once. The weights
/// stay separate inputs. The concatenation moves no data: it becomes a
/// `step.bundle`, which stores them side by side. Every entry that takes these
/// weights shares the bundle, so products are joined only if all entries join
/// them the same way and no other op reads or overwrites the weights. Trained
/// weights therefore stay separate. So do products with an epilogue other than
/// a bias, such as an activation after only one of them.

#ifndef TPOPT_PASSES_LOWER_JOINPRODUCTS_H
#define TPOPT_PASSES_LOWER_JOINPRODUCTS_H

#include "lib/Target/Target.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"

namespace tp {

/// Maps every concatenation that lowers to a `step.bundle` to the number of
/// rows of the bundle.
using Bundles = llvm::DenseMap<mlir::Operation *, int64_t>;

/// Joins products in the entries of a module. The entries must be legal for the
/// target.
Bundles joinProducts(llvm::ArrayRef<mlir::func::FuncOp> functions,
                     const codegen::Target &target);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_JOINPRODUCTS_H
