// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Axes of a mesh along which nothing is cut: the devices along them do
/// the same work, which is hardly what their owner wants.

#ifndef TPOPT_REPORT_UNUSEDAXES_H
#define TPOPT_REPORT_UNUSEDAXES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

namespace tp {

/// Says for each mesh of a partitioned module which axes no sharding names, or
/// that it names none at all. An axis of one device is no axis, and
/// `replicated={..}` names one. Returns how often there was something to say.
unsigned reportUnusedAxes(mlir::ModuleOp module,
                          mlir::DiagnosticSeverity severity);

} // namespace tp

#endif // TPOPT_REPORT_UNUSEDAXES_H
