// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Translates the signature of a function to that of a step.program.

#ifndef TPOPT_PASSES_LOWER_ENTRY_H
#define TPOPT_PASSES_LOWER_ENTRY_H

#include "tpopt/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Creates a program without steps at the insertion point. `getType` maps the
/// types of the function's arguments and results to those of the program's
/// inputs and outputs. Emits an error if an artifact cannot have such an entry.
mlir::FailureOr<step::ProgramOp>
createEntry(mlir::OpBuilder &builder, mlir::func::FuncOp function,
            mlir::FlatSymbolRefAttr mesh,
            llvm::function_ref<mlir::Type(mlir::Type)> getType);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_ENTRY_H
