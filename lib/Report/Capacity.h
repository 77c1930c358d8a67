// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Reports plans that need more memory than a device may use.

#ifndef TPOPT_REPORT_CAPACITY_H
#define TPOPT_REPORT_CAPACITY_H

#include "dialects/TP/ShardingTable.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tp {

/// Reports `function`, which must be partitioned, if a device needs more than
/// `capacity` bytes for it. Returns true if the function was reported. If
/// `capacity` is 0, the capacity is unknown, and nothing is reported.
bool reportTooLittleMemory(mlir::FunctionOpInterface function,
                           ShardingTable &table, int64_t capacity,
                           mlir::DiagnosticSeverity severity);

} // namespace tp

#endif // TPOPT_REPORT_CAPACITY_H
