// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The passes of stage Import, which bring programs and plans from
/// elsewhere into our dialects.

#ifndef TPOPT_PASSES_IMPORT_PASSES_H
#define TPOPT_PASSES_IMPORT_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tp {

#define GEN_PASS_DECL
#include "tpopt/Passes/Import/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "tpopt/Passes/Import/Passes.h.inc"

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_PASSES_H
