// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The kernel for matrix products with few rows.

#ifndef TPOPT_LIB_CODEGEN_SKINNYMATMUL_H
#define TPOPT_LIB_CODEGEN_SKINNYMATMUL_H

#include "lib/Codegen/Kernels.h"

namespace tp::codegen {

/// The columns of B and the summed dimension are divided among the threads. The
/// order of a sum depends only on the sizes and the strides.
mlir::FailureOr<KernelLaunch> emitSkinnyMatmulForGpu(mlir::OpBuilder &builder,
                                                     step::SkinnyMatmulOp op,
                                                     llvm::StringRef name);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_SKINNYMATMUL_H
