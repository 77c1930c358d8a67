// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds the function, results and arguments that the options of differentiation
// and of training name. If a name is not found, the error lists the names that
// exist.

#ifndef TPOPT_PASSES_DIFFERENTIATE_SELECTION_H
#define TPOPT_PASSES_DIFFERENTIATE_SELECTION_H

#include "passes/Import/NamePattern.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tp {

/// Returns the entry of `module` called `name`, or the only entry if `name` is
/// empty; null after an error.
mlir::func::FuncOp findEntry(mlir::ModuleOp module, llvm::StringRef name);

/// Returns the result called `name`, which the option `option` names.
mlir::FailureOr<unsigned> findResult(mlir::func::FuncOp function,
                                     llvm::StringRef name,
                                     llvm::StringRef option);

/// Returns the result called `name`, which must be a scalar of f32 or f64.
mlir::FailureOr<unsigned> findLoss(mlir::func::FuncOp function,
                                   llvm::StringRef name);

/// Emits an error if one of the patterns of `option` matches none of
/// `arguments`. The error calls these arguments `what`.
mlir::LogicalResult checkPatterns(mlir::func::FuncOp function,
                                  llvm::ArrayRef<NamePattern> patterns,
                                  llvm::ArrayRef<unsigned> arguments,
                                  llvm::StringRef option, llvm::StringRef what);

/// Returns true if one of `patterns` matches the argument.
bool matchesAny(llvm::ArrayRef<NamePattern> patterns,
                mlir::func::FuncOp function, unsigned argument);

/// Emits the error that no parameter is trained, and lists the arguments that
/// could be.
mlir::LogicalResult emitNoParameter(mlir::func::FuncOp function);

/// Returns true if an argument has no role and no source, and is not donated to
/// a result.
bool isUndeclared(mlir::func::FuncOp function, unsigned argument);

} // namespace tp

#endif // TPOPT_PASSES_DIFFERENTIATE_SELECTION_H
