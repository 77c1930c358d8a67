// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Compiles kernels to native code of this machine.

#ifndef TPOPT_CODEGEN_OBJECTCODE_H
#define TPOPT_CODEGEN_OBJECTCODE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tp::codegen {

/// Compiles the functions of `module`, in the dialects that `emitCpuKernel`
/// writes, to a shared object. `cpu` is an architecture with its features, as
/// `tprt::getHostCpu` returns them; the code uses exactly these, so that the
/// runtime can tell whether a machine can execute it. Emits errors at the
/// module. The module must not be used afterwards.
mlir::FailureOr<std::string> compileKernels(mlir::ModuleOp module,
                                            llvm::StringRef cpu);

/// Registers the dialects that CPU kernels are written in and lowered through,
/// and their translations to LLVM IR. The pass that compiles kernels needs
/// them.
void registerKernelDialects(mlir::DialectRegistry &registry);

} // namespace tp::codegen

#endif // TPOPT_CODEGEN_OBJECTCODE_H
