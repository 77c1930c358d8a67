// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The target that a module is compiled for. The user specifies it once, and the
// module's plan records it.

#ifndef TPOPT_PASSES_LOWER_PLANNEDTARGET_H
#define TPOPT_PASSES_LOWER_PLANNEDTARGET_H

#include "lib/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"

namespace tp {

/// The target given by the options of a pass. Without options, it is the target
/// of the module's plan, or the CPU if the plan has none. Records the target in
/// the plan. Emits an error at `module` if there is no such target, or if the
/// plan has a different one.
mlir::FailureOr<const codegen::Target *>
getPlannedTarget(mlir::ModuleOp module, llvm::StringRef option, bool fp8);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_PLANNEDTARGET_H
