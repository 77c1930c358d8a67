// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The passes of stage Verify, which prove that programs are correct or
/// find where they are wrong.

#ifndef TPOPT_PASSES_VERIFY_PASSES_H
#define TPOPT_PASSES_VERIFY_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tp {

#define GEN_PASS_DECL
#include "tpopt/Passes/Verify/Passes.h.inc"

/// Adds the passes that a user's program goes through before partitioning.
using PreparePasses = void (*)(mlir::OpPassManager &);

/// `prepare` adds the passes that run on the whole program before partitioning.
/// Only the pipeline knows these passes.
std::unique_ptr<mlir::Pass>
createVerifyOriginPass(VerifyOriginPassOptions options, PreparePasses prepare);
std::unique_ptr<mlir::Pass> createVerifyOriginPass();

#define GEN_PASS_REGISTRATION
#include "tpopt/Passes/Verify/Passes.h.inc"

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_PASSES_H
