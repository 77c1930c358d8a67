// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Functions of one block, whose arguments and results may change.

#ifndef TPOPT_TOOLS_TP_REDUCE_FUNCTIONS_H
#define TPOPT_TOOLS_TP_REDUCE_FUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Whether the body is one block and a return its end. MLIR takes operations
/// that are only read for an end, too.
bool endsInReturn(mlir::func::FuncOp function);

/// How many operations of the module, also of dialects that are only read, name
/// the function.
unsigned countUsers(mlir::func::FuncOp function);

/// The operations before the return, by their number.
unsigned countOps(mlir::func::FuncOp function);
mlir::Operation *getOp(mlir::func::FuncOp function, unsigned index);

/// A new argument at the end.
mlir::Value addArgument(mlir::func::FuncOp function, mlir::Type type,
                        mlir::Location loc);

/// Makes the function return `values` and nothing else.
void setResults(mlir::func::FuncOp function, mlir::ValueRange values);
/// Makes the function also return `values`.
void addResults(mlir::func::FuncOp function, mlir::ValueRange values);

} // namespace tp

#endif // TPOPT_TOOLS_TP_REDUCE_FUNCTIONS_H
