// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The passes of stage Train.

#ifndef TPOPT_PASSES_TRAIN_PASSES_H
#define TPOPT_PASSES_TRAIN_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tp {

#define GEN_PASS_DECL
#include "tpopt/Passes/Train/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "tpopt/Passes/Train/Passes.h.inc"

} // namespace tp

#endif // TPOPT_PASSES_TRAIN_PASSES_H
