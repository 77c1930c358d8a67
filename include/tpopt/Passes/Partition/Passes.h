// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The passes of stage Partition, which decide what every op computes on
/// every device.

#ifndef TPOPT_PASSES_PARTITION_PASSES_H
#define TPOPT_PASSES_PARTITION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tp {

#define GEN_PASS_DECL
#include "tpopt/Passes/Partition/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "tpopt/Passes/Partition/Passes.h.inc"

} // namespace tp

#endif // TPOPT_PASSES_PARTITION_PASSES_H
