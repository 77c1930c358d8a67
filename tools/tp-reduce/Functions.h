// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Functions with one block, whose arguments and results may change.

#ifndef TPOPT_TOOLS_TP_REDUCE_FUNCTIONS_H
#define TPOPT_TOOLS_TP_REDUCE_FUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Returns true if the body is one block that ends in a return. MLIR also
/// accepts operations of unregistered dialects as terminators.
bool endsInReturn(mlir::func::FuncOp function);

/// Returns how many operations of the module refer to the function by name,
/// including operations of unregistered dialects.
unsigned countUsers(mlir::func::FuncOp function);

/// The operations before the return, by index.
unsigned countOps(mlir::func::FuncOp function);
mlir::Operation *getOp(mlir::func::FuncOp function, unsigned index);

/// Appends a new argument.
mlir::Value addArgument(mlir::func::FuncOp function, mlir::Type type,
                        mlir::Location loc);

/// Makes the function return `values` and nothing else.
void setResults(mlir::func::FuncOp function, mlir::ValueRange values);
/// Makes the function also return `values`.
void addResults(mlir::func::FuncOp function, mlir::ValueRange values);

} // namespace tp

#endif // TPOPT_TOOLS_TP_REDUCE_FUNCTIONS_H
