// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The arguments and results of an entry that a recipe names.

#ifndef TPOPT_PASSES_TRAIN_SELECTION_H
#define TPOPT_PASSES_TRAIN_SELECTION_H

#include "Recipe.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

struct Selection {
  /// Fails after an error, for example if a selected argument cannot be
  /// trained.
  static mlir::FailureOr<Selection> find(mlir::func::FuncOp function,
                                         const Recipe &recipe);

  llvm::SmallVector<unsigned> trained; ///< Arguments.
  unsigned loss;                       ///< A result.
  std::optional<unsigned> weight;      ///< A result.

private:
  mlir::LogicalResult findResults(mlir::func::FuncOp function,
                                  const Recipe &recipe);
  mlir::LogicalResult findTrained(mlir::func::FuncOp function,
                                  const Recipe &recipe);
};

} // namespace tp

#endif // TPOPT_PASSES_TRAIN_SELECTION_H
