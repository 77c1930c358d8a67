// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AttentionKernels.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

FailureOr<KernelLaunch> tp::codegen::emitAttentionForGpu(OpBuilder &builder,
                                                         step::AttentionOp op,
                                                         StringRef name) {
  AttentionShape shape(op);
  int64_t threads = shape.tiles.warps * kWarp;
  gpu::GPUFuncOp function = createGpuFunction(builder, op, name, threads);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function.getBody().front().getTerminator());
  bool isHalf = !op.getQuery().getType().getElementType().isF32();
  auto emit = isHalf ? emitHalfAttention : emitSingleAttention;
  return KernelLaunch{shape.getNumBlocks(), threads,
                      emit(builder, op, shape, function)};
}
