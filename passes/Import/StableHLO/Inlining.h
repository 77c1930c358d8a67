// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Inlines functions that have a meaning only where they are called.
/// Other functions stay until `tp-inline-calls`.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_INLINING_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_INLINING_H

#include "mlir/IR/BuiltinOps.h"

namespace tp::stablehlo {

/// Inlines functions in which devices exchange data, since the exchange has a
/// meaning only in the caller's region for one device. Also inlines functions
/// on elements that are called in the region of a reduction or a similar op.
/// Fails with an error if there are too many calls.
mlir::LogicalResult inlineCalls(mlir::ModuleOp module);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_INLINING_H
