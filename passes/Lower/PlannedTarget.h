// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a module is compiled for: said once, and remembered in its plan.

#ifndef TPOPT_PASSES_LOWER_PLANNEDTARGET_H
#define TPOPT_PASSES_LOWER_PLANNEDTARGET_H

#include "lib/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"

namespace tp {

/// The target of the options of a pass; where they say nothing, that of the
/// module's plan, else the CPU. The plan remembers it. Emits an error at
/// `module` if there is no such target, or if the plan names another one.
mlir::FailureOr<const codegen::Target *>
getPlannedTarget(mlir::ModuleOp module, llvm::StringRef option, bool fp8);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_PLANNEDTARGET_H
