// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Verify: passes that prove programs right, or find where they are
/// wrong.

#ifndef TPOPT_PASSES_VERIFY_PASSES_H
#define TPOPT_PASSES_VERIFY_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tp {

#define GEN_PASS_DECL
#include "tpopt/Passes/Verify/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "tpopt/Passes/Verify/Passes.h.inc"

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_PASSES_H
