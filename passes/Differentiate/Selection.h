// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which function, results and arguments options of differentiation and of
// training speak of. What is not found is an error that says what there is.

#ifndef TPOPT_PASSES_DIFFERENTIATE_SELECTION_H
#define TPOPT_PASSES_DIFFERENTIATE_SELECTION_H

#include "passes/Import/NamePattern.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tp {

/// The entry of `module` called `name`, or the only one if that is empty; null
/// after an error.
mlir::func::FuncOp findEntry(mlir::ModuleOp module, llvm::StringRef name);

/// The result called `name`, as the option `option` says.
mlir::FailureOr<unsigned> findResult(mlir::func::FuncOp function,
                                     llvm::StringRef name,
                                     llvm::StringRef option);

/// The result called `name`, which is to be a scalar of f32 or f64.
mlir::FailureOr<unsigned> findLoss(mlir::func::FuncOp function,
                                   llvm::StringRef name);

/// The error that one of the patterns of `option` is about none of `arguments`,
/// which are called `what`.
mlir::LogicalResult checkPatterns(mlir::func::FuncOp function,
                                  llvm::ArrayRef<NamePattern> patterns,
                                  llvm::ArrayRef<unsigned> arguments,
                                  llvm::StringRef option, llvm::StringRef what);

/// Whether one of `patterns` is about the argument.
bool matchesAny(llvm::ArrayRef<NamePattern> patterns,
                mlir::func::FuncOp function, unsigned argument);

/// The error that nothing is trained, with the arguments that could be.
mlir::LogicalResult emitNoParameter(mlir::func::FuncOp function);

/// Whether an argument has no role, no source and no result that it is donated
/// to.
bool isUndeclared(mlir::func::FuncOp function, unsigned argument);

} // namespace tp

#endif // TPOPT_PASSES_DIFFERENTIATE_SELECTION_H
