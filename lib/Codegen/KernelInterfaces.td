// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// These interfaces say on which targets a step has a kernel. Kernels.cpp
// attaches them to ops of the step dialect, as external models.

#ifndef TPOPT_CODEGEN_KERNELINTERFACES
#define TPOPT_CODEGEN_KERNELINTERFACES

include "mlir/IR/OpBase.td"

def CpuKernelOpInterface : OpInterface<"CpuKernelOpInterface"> {
  let cppNamespace = "::tp::codegen";
  let description = "For steps that have a kernel on a CPU.";
  let methods = [
    InterfaceMethod<[{
        Emits the kernel as the function `name`, in the arith, llvm, math, scf
        and vector dialects. It has the ABI of `tprt::KernelRow`: a table of
        pointers to where the operands begin, a table of scalars, and a range of
        parts.
      }], "::mlir::func::FuncOp", "emitCpuKernel",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::StringRef":$name)>,
  ];
}

def GpuKernelOpInterface : OpInterface<"GpuKernelOpInterface"> {
  let cppNamespace = "::tp::codegen";
  let description = "For steps that have a kernel on a GPU.";
  let methods = [
    InterfaceMethod<[{
        Emits the kernel as the function `name` where `builder` stands, in a
        `gpu.module`, in the form for the chip that the module's target names,
        if there is one. Its arguments are those that `createGpuFunction` gives it.
        Buffers begin at multiples of 64 bytes before their views' offsets, as
        the arena's do. Emits an error at the op if it is too large.
      }], "::llvm::FailureOr<::tp::codegen::KernelLaunch>", "emitGpuKernel",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::StringRef":$name)>,
  ];
}

#endif // TPOPT_CODEGEN_KERNELINTERFACES
