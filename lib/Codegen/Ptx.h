// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Kernels as PTX, the assembly that NVIDIA's driver compiles for the GPU
/// it finds.
///
/// The code generator is LLVM's, in this process: neither a GPU nor a CUDA
/// toolkit takes part. Functions that hardware lacks are polynomials, as on
/// the CPU, so there is no libdevice either. For rms_norm of [512, 4096]:
///
///     FailureOr<GpuChip> chip = getGpuChip(rows, "sm_90");
///     FailureOr<std::vector<PtxModule>> ptx =
///         compilePtx({{rows, "rows0"}}, *chip);
///     ptx->front().launches[0]  // 512 blocks of 256 threads
///     ptx->front().text         // ".visible .entry rows0(.param .u64 ..."
///
/// Arguments are those of `emitGpuKernel`. Errors: an unknown chip, and what a
/// GPU has no instructions for, such as the sine of an f64.

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
  /// Whether its code runs on no other chip, as that of sm_90a does.
  bool hasSuffix = false;
};

/// The chip of a name, sm_80 or later. Emits an error at `op`.
mlir::FailureOr<GpuChip> getGpuChip(mlir::Operation *op, llvm::StringRef name);

/// The code of all kernels for one chip.
struct PtxModule {
  std::vector<KernelLaunch> launches; ///< In the order of the kernels.
  std::string text;
};

/// Compiles kernels of one module, of which there is at least one, for each
/// chip. Emits errors at them.
mlir::FailureOr<std::vector<PtxModule>>
compilePtx(llvm::ArrayRef<Kernel> kernels, llvm::ArrayRef<GpuChip> chips);

/// A module for `emitGpuKernel` to write kernels for a chip into, where
/// `builder` stands.
mlir::gpu::GPUModuleOp createGpuModule(mlir::OpBuilder &builder,
                                       mlir::Location loc,
                                       llvm::StringRef chip);

/// The dialects that GPU kernels pass through, with their translations.
void registerGpuKernelDialects(mlir::DialectRegistry &registry);

} // namespace tp::codegen

#endif // TPOPT_CODEGEN_PTX_H
