// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The call graph of a module. The functions of
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
  /// All calls in the function, in order, including those in nested regions.
  llvm::SmallVector<mlir::func::CallOp> calls;
};

/// Returns the functions of a module, callees before their callers. Of
/// functions that call each other in a cycle, the one that is called first
/// comes last. Fails with an error if inlining all calls would give a function
/// more operations than any real program has, for example if each function in a
/// long chain calls the next one twice.
mlir::FailureOr<std::vector<FunctionCalls>>
getCalleesFirst(mlir::ModuleOp module);

/// Adds the symbols that `op` itself refers to. SymbolTable does not find the
/// symbols in unregistered operations, such as those of `stablehlo`.
void collectSymbols(mlir::Operation *op,
                    llvm::DenseSet<mlir::StringAttr> &names);

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_CALLS_H
