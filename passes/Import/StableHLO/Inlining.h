// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Functions that mean something only where they are called. Others stay
/// until `tp-inline-calls`.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_INLINING_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_INLINING_H

#include "mlir/IR/BuiltinOps.h"

namespace tp::stablehlo {

/// Puts functions in which devices exchange something where they are called: on
/// their own they do not stand in a region for one device; and those of
/// elements where a reduction or such calls them. Fails with an error if there
/// are too many calls.
mlir::LogicalResult inlineCalls(mlir::ModuleOp module);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_INLINING_H
