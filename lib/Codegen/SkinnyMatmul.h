// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The kernel of products of few rows.

#ifndef TPOPT_LIB_CODEGEN_SKINNYMATMUL_H
#define TPOPT_LIB_CODEGEN_SKINNYMATMUL_H

#include "lib/Codegen/Kernels.h"

namespace tp::codegen {

/// Threads share columns of B and what is summed, in an order that the sizes
/// and the strides decide.
mlir::FailureOr<KernelLaunch> emitSkinnyMatmulForGpu(mlir::OpBuilder &builder,
                                                     step::SkinnyMatmulOp op,
                                                     llvm::StringRef name);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_SKINNYMATMUL_H
