// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What --reduction-tree tries to make of functions, whatever dialect their
// operations are of: of those that are only read, such as stablehlo's, nothing
// is known but their structure.

#ifndef TPOPT_TOOLS_TP_REDUCE_REDUCTIONS_H
#define TPOPT_TOOLS_TP_REDUCE_REDUCTIONS_H

#include "Trials.h"

#include "mlir/IR/DialectRegistry.h"

namespace tp {

/// Makes a function smaller if the program stays interesting with it; returns
/// whether it is smaller. It need not mean the same. The function is one block
/// that ends in a return.
using Reduction = bool (*)(mlir::func::FuncOp function,
                           mlir::PatternRewriter &rewriter, Trials &trials);

// Those of one file each.
llvm::ArrayRef<Reduction> getBodyReductions();
llvm::ArrayRef<Reduction> getRegionReductions();
llvm::ArrayRef<Reduction> getSignatureReductions();
llvm::ArrayRef<Reduction> getAttributeReductions();

/// Makes --reduction-tree use all of them.
void registerReductions(mlir::DialectRegistry &registry);

} // namespace tp

#endif // TPOPT_TOOLS_TP_REDUCE_REDUCTIONS_H
