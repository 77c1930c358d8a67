// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Compiles kernels to PTX, the assembly that NVIDIA's driver compiles
/// for the GPU it finds.
///
/// The code generator is LLVM's, in this process: it needs neither a GPU nor a
/// CUDA toolkit. Functions that the hardware lacks become polynomials, as on
/// the CPU, so libdevice is not needed either. For rms_norm of [512, 4096]:
///
///     FailureOr<GpuChip> chip = getGpuChip(rows, "sm_90");
///     FailureOr<std::vector<PtxModule>> ptx =
///         compilePtx({{rows, "rows0"}}, *chip);
///     ptx->front().launches[0]  // 512 blocks of 256 threads
///     ptx->front().text         // ".visible .entry rows0(.param .u64 ..."
///
/// Arguments are those of `emitGpuKernel`. Errors: an unknown chip, and ops for
/// which a GPU has no instructions, such as the sine of an f64.

#ifndef TPOPT_CODEGEN_PTX_H
#define TPOPT_CODEGEN_PTX_H

#include "lib/Codegen/KernelTable.h"
#include "lib/Codegen/Kernels.h"

#include <string>
#include <vector>

namespace tp::codegen {

struct GpuChip {
  std::string name;     ///< "sm_90a"
  unsigned version = 0; ///< 10 * major + minor: 90.
  /// True if its code runs on no other chip, as for sm_90a.
  bool hasSuffix = false;
};

/// The chip called `name`, sm_80 or later. Emits an error at `op` if there is
/// none.
mlir::FailureOr<GpuChip> getGpuChip(mlir::Operation *op, llvm::StringRef name);

/// The code of all kernels for one chip.
struct PtxModule {
  std::vector<KernelLaunch> launches; ///< In the order of the kernels.
  std::string text;
};

/// Compiles the kernels of one module for each chip. There must be at least one
/// kernel. Emits errors at the kernels' steps.
mlir::FailureOr<std::vector<PtxModule>>
compilePtx(llvm::ArrayRef<Kernel> kernels, llvm::ArrayRef<GpuChip> chips);

/// Creates a module at the insertion point, into which `emitGpuKernel` can
/// write kernels for a chip.
mlir::gpu::GPUModuleOp createGpuModule(mlir::OpBuilder &builder,
                                       mlir::Location loc,
                                       llvm::StringRef chip);

/// Registers the dialects that GPU kernels are lowered through, and their
/// translations to LLVM IR.
void registerGpuKernelDialects(mlir::DialectRegistry &registry);

} // namespace tp::codegen

#endif // TPOPT_CODEGEN_PTX_H
