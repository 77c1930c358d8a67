// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Computes equal values once, unless sharing one would occupy much
/// memory for a long time.
///
/// A backward pass recomputes values that are cheaper to compute than to keep.
/// The program contains the recomputation, and the memory plan relies on it.
/// Plain CSE would undo it:
///
///     %s = tp.logistic %gate       // forward
///     ..                           // many products
///     %t = tp.logistic %gate       // backward: stays
///
/// So an op that is far away (`Distances.h`) shares an earlier value only if
/// that needs no memory (views) or little memory (one number per row of the
/// tensor it was computed from), or if the value is not an activation (tables
/// of positions, masks). The second all-gather of a weight in fully sharded
/// data parallelism therefore also stays.

#ifndef TPOPT_PASSES_LOWER_SHAREEQUAL_H
#define TPOPT_PASSES_LOWER_SHAREEQUAL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Shares equal values in all blocks of `function`, and erases unused ops.
void shareEqual(mlir::func::FuncOp function);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_SHAREEQUAL_H
