// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file From step programs to the bytes of a `.tpx`.
///
/// Programs of a module become the entries of one artifact. Inputs of equal
/// name are one storage; equal row programs are one kernel, so a model's layers
/// share theirs. The bytes depend on the module and the CPU's features only.

#ifndef TPOPT_CODEGEN_ARTIFACT_H
#define TPOPT_CODEGEN_ARTIFACT_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tp {

/// Compiles the row programs for this machine's CPU and writes the tables.
/// Buffers must have places (`tp-assign-buffers`). Emits errors where they lie.
mlir::FailureOr<std::string> buildCPUArtifact(mlir::ModuleOp module);

} // namespace tp

#endif // TPOPT_CODEGEN_ARTIFACT_H
