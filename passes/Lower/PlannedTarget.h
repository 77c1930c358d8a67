// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The target that a module is compiled for. It is given once, and recorded in
// the module's plan.

#ifndef TPOPT_PASSES_LOWER_PLANNEDTARGET_H
#define TPOPT_PASSES_LOWER_PLANNEDTARGET_H

#include "lib/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"

namespace tp {

/// The target given by the options of a pass. Without options it is the target
/// of the module's plan, else the CPU. The plan records it. Emits an error at
/// `module` if there is no such target, or if the plan names another one.
mlir::FailureOr<const codegen::Target *>
getPlannedTarget(mlir::ModuleOp module, llvm::StringRef option, bool fp8);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_PLANNEDTARGET_H
