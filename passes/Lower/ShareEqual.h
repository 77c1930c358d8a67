// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Equal values are computed once, unless that holds much memory for
/// long.
///
/// A backward pass computes again what is cheaper than keeping: the program
/// says so, and the plan counts on it. Plain CSE would undo that:
///
///     %s = tp.logistic %gate       // forward
///     ..                           // many products
///     %t = tp.logistic %gate       // backward: stays
///
/// So an equal op far behind shares the earlier value only if that takes no
/// memory (views), little memory (a number for each row of what it was computed
/// of), or if it is no activation (tables of positions, masks). Both gathers of
/// a weight that fully sharded data parallelism cuts stay, too.

#ifndef TPOPT_PASSES_LOWER_SHAREEQUAL_H
#define TPOPT_PASSES_LOWER_SHAREEQUAL_H

#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// How far apart ops of a block are, as numbers of contractions: what else
/// there is takes little time beside them.
class Distances {
public:
  explicit Distances(mlir::Block &block);

  /// Whether what `first` computes may wait for `second`, an op behind it in
  /// the block.
  bool isNear(mlir::Operation *first, mlir::Operation *second) const;

private:
  /// The contractions before each op.
  llvm::DenseMap<mlir::Operation *, unsigned> before;
};

/// Also erases what nobody uses.
void shareEqual(mlir::func::FuncOp function);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_SHAREEQUAL_H
