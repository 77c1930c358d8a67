// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Reports plans that need more memory than a device may use.

#ifndef TPOPT_REPORT_CAPACITY_H
#define TPOPT_REPORT_CAPACITY_H

#include "dialects/TP/ShardingTable.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tp {

/// Reports a partitioned function for which a device holds more than `capacity`
/// bytes; a capacity of 0 means that it is unknown. Returns true if it has
/// reported one.
bool reportTooLittleMemory(mlir::FunctionOpInterface function,
                           ShardingTable &table, int64_t capacity,
                           mlir::DiagnosticSeverity severity);

} // namespace tp

#endif // TPOPT_REPORT_CAPACITY_H
