// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AttentionKernels.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// Returns true if the module at the insertion point is for the chip that has
/// wgmma.
static bool hasWgmma(OpBuilder &builder) {
  Operation *parent = builder.getInsertionBlock()->getParentOp();
  ArrayAttr targets = cast<gpu::GPUModuleOp>(parent).getTargetsAttr();
  return targets && llvm::any_of(targets, [](Attribute attribute) {
           auto target = dyn_cast<NVVM::NVVMTargetAttr>(attribute);
           return target && target.getChip() == kWarpgroupChip;
         });
}

/// Allows denormal f32 to be flushed to 0, which does not change 16-bit
/// results, so that an exponential is one instruction instead of four.
static void flushDenormals(gpu::GPUFuncOp function) {
  Builder builder(function.getContext());
  function->setAttr("passthrough",
                    builder.getArrayAttr(builder.getStrArrayAttr(
                        {"denormal-fp-math-f32", "preserve-sign"})));
}

FailureOr<KernelLaunch> tp::codegen::emitAttentionForGpu(OpBuilder &builder,
                                                         step::AttentionOp op,
                                                         StringRef name) {
  AttentionSize size = getAttentionSize(op);
  bool byWarpgroups =
      hasWgmma(builder) && fitsWarpgroups(size, bool(op.getMask()));
  AttentionShape shape(op, byWarpgroups       ? getWarpgroupTiles()
                           : op.getTwoWarps() ? getTwoWarpTiles(size)
                                              : getAttentionTiles(size));
  int64_t threads = shape.tiles.warps * kWarp;
  gpu::GPUFuncOp function = createGpuFunction(builder, op, name, threads);
  if (size.isHalf)
    flushDenormals(function);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function.getBody().front().getTerminator());
  auto emit = byWarpgroups  ? emitWarpgroupAttention
              : size.isHalf ? emitWarpAttention
                            : emitSingleAttention;
  return KernelLaunch{shape.getNumBlocks(), threads,
                      emit(builder, op, shape, function)};
}
