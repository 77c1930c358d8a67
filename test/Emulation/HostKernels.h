// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// GPU kernels as functions of this machine.

#ifndef TPOPT_TEST_EMULATION_HOSTKERNELS_H
#define TPOPT_TEST_EMULATION_HOSTKERNELS_H

#include "Emulator.h"

#include "runtime/Core/CpuFeatures.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace emulation {

/// Adds, for each kernel of `device`, the function `Kernel` of its name to
/// `into`, and the table of functions that the emulator fills. What threads ask
/// of each other becomes calls; memory that a block shares lies behind the
/// pointer that one of them gives. Takes what `emitGpuKernel` writes, before
/// any lowering; emits an error at what it has no counterpart for.
mlir::LogicalResult convertToHost(mlir::gpu::GPUModuleOp device,
                                  mlir::ModuleOp into);

/// The same, compiled for `cpu`, which must be this machine or can do less,
/// with what else `into` holds, and opened. Null, with errors, if that fails.
/// The module is used up.
std::unique_ptr<KernelLibrary>
loadOnHost(mlir::gpu::GPUModuleOp device, mlir::ModuleOp into,
           const std::string &cpu = tprt::getHostCpu());

} // namespace emulation

#endif // TPOPT_TEST_EMULATION_HOSTKERNELS_H
