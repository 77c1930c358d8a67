// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The interface of a program: its entries, and the names of their inputs
/// and outputs in artifacts and on command lines.
///
///     func.func @main(%x: tensor<4xf32> {tp.name = "x"}, %0: tensor<4xf32>)
///         -> tensor<4xf32>
///
/// has the entry `main` with inputs `x` and `arg1` and the output `result0`.

#ifndef TPOPT_DIALECTS_TP_INTERFACE_H
#define TPOPT_DIALECTS_TP_INTERFACE_H

#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tp {

/// Returns true if a function can be called from outside: it is public and has
/// a body.
bool isEntry(mlir::func::FuncOp function);

/// The `tp.role` of an argument. Without one: a parameter if it has
/// `tp.source`, else state if it has `tp.donated`, else an input.
Role getRole(mlir::FunctionOpInterface function, unsigned argument);
/// The `tp.role` of a result, or the role of the argument that it overwrites;
/// nullopt for a plain output.
std::optional<Role> getResultRole(mlir::FunctionOpInterface function,
                                  unsigned result);

/// The `tp.name` of an argument, or `arg` and its number.
mlir::StringAttr getInputName(mlir::func::FuncOp function, unsigned index);
/// The `tp.name` of a result, or `result` and its number.
mlir::StringAttr getOutputName(mlir::func::FuncOp function, unsigned index);

/// The name of an argument in the program text: `up` for `%up`. Null if the
/// name is not known. If the argument has a `tp.name`, that name takes
/// precedence.
mlir::StringAttr getTextName(mlir::BlockArgument argument);
/// Returns a location that records `name` as the name in the program text.
mlir::Location withTextName(mlir::Location location, llvm::StringRef name);

} // namespace tp

#endif // TPOPT_DIALECTS_TP_INTERFACE_H
