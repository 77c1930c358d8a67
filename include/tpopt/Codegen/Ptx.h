// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Row programs as PTX, the assembly that NVIDIA's driver compiles for
/// the GPU it finds.
///
/// The code generator is LLVM's, in this process: neither a GPU nor a CUDA
/// toolkit takes part. Functions that hardware lacks are polynomials, as on
/// the CPU, so there is no libdevice either. For rms_norm of [512, 4096]:
///
///     FailureOr<PtxModule> ptx = compilePtx({rows}, "sm_90");
///     ptx->kernels[0].name    // "rows0"
///     ptx->kernels[0].launch  // 512 blocks of 256 threads
///     ptx->text               // ".visible .entry rows0(.param .u64 ..."
///
/// Arguments are those of `emitGpuKernel`. Errors: an unknown chip, and what a
/// GPU has no instructions for, such as the sine of an f64.

#ifndef TPOPT_CODEGEN_PTX_H
#define TPOPT_CODEGEN_PTX_H

#include "tpopt/Codegen/Kernels.h"

#include <string>
#include <vector>

namespace tp {

struct PtxModule {
  struct Kernel {
    std::string name;
    Launch launch;
  };
  std::vector<Kernel> kernels; ///< In the order of the row programs.
  std::string text;
};

/// Compiles row programs of one module, of which there is at least one, for
/// `chip`, such as sm_80. Emits errors at them.
mlir::FailureOr<PtxModule> compilePtx(llvm::ArrayRef<step::RowsOp> kernels,
                                      llvm::StringRef chip);

/// The dialects that GPU kernels pass through, with their translations.
void registerGpuKernelDialects(mlir::DialectRegistry &registry);

} // namespace tp

#endif // TPOPT_CODEGEN_PTX_H
