// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Axes of a mesh along which nothing is sharded: the devices along them
/// do the same work, which is rarely intended.

#ifndef TPOPT_REPORT_UNUSEDAXES_H
#define TPOPT_REPORT_UNUSEDAXES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

namespace tp {

/// For each mesh of a partitioned module, reports the axes that no sharding
/// names. If no axis is named, there is one report for the whole mesh. Axes of
/// size 1 are ignored; `replicated={..}` counts as naming an axis. Returns the
/// number of reports.
unsigned reportUnusedAxes(mlir::ModuleOp module,
                          mlir::DiagnosticSeverity severity);

} // namespace tp

#endif // TPOPT_REPORT_UNUSEDAXES_H
