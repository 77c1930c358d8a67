// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The kernels of attention; see lib/Codegen/Attention.h.

#ifndef TPOPT_LIB_CODEGEN_ATTENTIONKERNELS_H
#define TPOPT_LIB_CODEGEN_ATTENTIONKERNELS_H

#include "AttentionEmitter.h"

namespace tp::codegen {

mlir::FailureOr<KernelLaunch> emitAttentionForGpu(mlir::OpBuilder &builder,
                                                  step::AttentionOp op,
                                                  llvm::StringRef name);

mlir::FailureOr<KernelLaunch>
emitQueryGradientForGpu(mlir::OpBuilder &builder,
                        step::AttentionQueryGradientOp op,
                        llvm::StringRef name);
mlir::FailureOr<KernelLaunch>
emitKeyValueGradientForGpu(mlir::OpBuilder &builder,
                           step::AttentionKeyValueGradientOp op,
                           llvm::StringRef name);

/// Each of these fills `function` with a kernel. The first is for 16-bit floats
/// and warps, the second for 16-bit floats and Hopper's warpgroups, the third
/// for f32. Returns the shared memory of a block in bytes.
int64_t emitWarpAttention(mlir::OpBuilder &builder, step::AttentionOp op,
                          const AttentionShape &shape,
                          mlir::gpu::GPUFuncOp function);
int64_t emitWarpgroupAttention(mlir::OpBuilder &builder, step::AttentionOp op,
                               const AttentionShape &shape,
                               mlir::gpu::GPUFuncOp function);
int64_t emitSingleAttention(mlir::OpBuilder &builder, step::AttentionOp op,
                            const AttentionShape &shape,
                            mlir::gpu::GPUFuncOp function);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_ATTENTIONKERNELS_H
