// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Finds computations whose results are not used.
///
/// Exporters write everything that a library function computes. For example,
/// PyTorch's MaxPool2d also finds the positions of the largest elements, by a
/// window over two tensors, even if only the elements are used.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_UNUSED_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_UNUSED_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"

namespace tp::stablehlo {

struct Unused {
  /// Operations and calls that only compute their results, if no result is
  /// used; and private functions that only such operations call. Operations
  /// nested in other operations of this set are not included.
  llvm::DenseSet<mlir::Operation *> ops;
  /// The names of all functions that only compute their results. Recursive
  /// functions are not included, since they may not terminate.
  llvm::DenseSet<mlir::StringAttr> pure;
};

/// Finds the unused operations of a module. `computes` tells whether an
/// operation, apart from its regions, only computes its results. Fails with an
/// error if there are too many calls.
mlir::FailureOr<Unused>
findUnused(mlir::ModuleOp module,
           llvm::function_ref<bool(mlir::Operation *)> computes);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_UNUSED_H
