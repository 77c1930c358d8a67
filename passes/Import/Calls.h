// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Which function calls which.
///
///     func.func @main(..) { call @layer; call @layer }
///     func.func private @layer(..) { call @norm }
///     func.func private @norm(..)
///
/// are, callees first, @norm, @layer and @main.

#ifndef TPOPT_PASSES_IMPORT_CALLS_H
#define TPOPT_PASSES_IMPORT_CALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"

namespace tp {

struct FunctionCalls {
  mlir::func::FuncOp function;
  /// Also in its nested regions, in order.
  llvm::SmallVector<mlir::func::CallOp> calls;
};

/// The functions of a module, callees before their callers. Of functions that
/// call each other in a circle, the one that is called first comes last. Fails
/// with an error if the operations of a function, with its calls inlined, are
/// more than any program has: a function that calls another twice, which calls
/// another twice, and so on.
mlir::FailureOr<std::vector<FunctionCalls>>
getCalleesFirst(mlir::ModuleOp module);

/// Adds the symbols that `op` itself names. SymbolTable does not find them in
/// operations of dialects that are only read.
void collectSymbols(mlir::Operation *op,
                    llvm::DenseSet<mlir::StringAttr> &names);

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_CALLS_H
