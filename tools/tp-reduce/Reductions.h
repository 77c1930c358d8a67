// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The reductions of functions that --reduction-tree tries, whatever the dialect
// of their operations: in unregistered dialects, such as stablehlo, only the
// structure of operations is known.

#ifndef TPOPT_TOOLS_TP_REDUCE_REDUCTIONS_H
#define TPOPT_TOOLS_TP_REDUCE_REDUCTIONS_H

#include "Trials.h"

#include "mlir/IR/DialectRegistry.h"

namespace tp {

/// Makes a function smaller if the program stays interesting; returns true if
/// it is smaller. Its meaning may change. The function has one block that ends
/// in a return.
using Reduction = bool (*)(mlir::func::FuncOp function,
                           mlir::PatternRewriter &rewriter, Trials &trials);

// Each of these returns the reductions that one source file defines.
llvm::ArrayRef<Reduction> getBodyReductions();
llvm::ArrayRef<Reduction> getRegionReductions();
llvm::ArrayRef<Reduction> getSignatureReductions();
llvm::ArrayRef<Reduction> getAttributeReductions();

/// Registers all reductions of this file for --reduction-tree.
void registerReductions(mlir::DialectRegistry &registry);

} // namespace tp

#endif // TPOPT_TOOLS_TP_REDUCE_REDUCTIONS_H
