// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The passes of stage Schedule.

#ifndef TPOPT_PASSES_SCHEDULE_PASSES_H
#define TPOPT_PASSES_SCHEDULE_PASSES_H

#include "tpopt/Dialect/Step/Step.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tp {

#define GEN_PASS_DECL
#include "tpopt/Passes/Schedule/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "tpopt/Passes/Schedule/Passes.h.inc"

} // namespace tp

#endif // TPOPT_PASSES_SCHEDULE_PASSES_H
