// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What a program computes and nobody uses.
///
/// Exporters write down whatever a library function computes. PyTorch's
/// MaxPool2d finds the places of the largest elements, too, by a window over
/// two tensors, though all that is used is the largest elements.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_UNUSED_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_UNUSED_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"

namespace tp::stablehlo {

struct Unused {
  /// Operations and calls whose results have no use, if all that they do is to
  /// compute these, and private functions that only these call. Not what is
  /// inside of them.
  llvm::DenseSet<mlir::Operation *> ops;
  /// The names of all functions that only compute. Not of those that call
  /// themselves, which need not end.
  llvm::DenseSet<mlir::StringAttr> pure;
};

/// `computes` tells of an operation, but for its regions, that its results are
/// all that it does. Fails with an error if there are too many calls.
mlir::FailureOr<Unused>
findUnused(mlir::ModuleOp module,
           llvm::function_ref<bool(mlir::Operation *)> computes);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_UNUSED_H
