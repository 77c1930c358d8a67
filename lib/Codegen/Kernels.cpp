// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Defines which steps have kernels, and on which targets.

#include "lib/Codegen/Kernels.h"

#include "AttentionKernels.h"
#include "IndexedKernels.h"
#include "RowKernels.h"
#include "SkinnyMatmul.h"

#include "tpopt/Support/ErrorCodes.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

#include "lib/Codegen/KernelInterfaces.cpp.inc"

namespace {

struct CpuRows : CpuKernelOpInterface::ExternalModel<CpuRows, step::RowsOp> {
  func::FuncOp emitCpuKernel(Operation *op, OpBuilder &builder,
                             StringRef name) const {
    return emitRowsForCpu(builder, cast<step::RowsOp>(op), name);
  }
};

struct CpuTogether
    : CpuKernelOpInterface::ExternalModel<CpuTogether, step::TogetherOp> {
  func::FuncOp emitCpuKernel(Operation *op, OpBuilder &builder,
                             StringRef name) const {
    return emitTogetherForCpu(builder, cast<step::TogetherOp>(op), name);
  }
};

/// Implements the GPU kernel of an op by `emit`.
template <typename Op,
          FailureOr<KernelLaunch> (*emit)(OpBuilder &, Op, StringRef)>
struct GpuModel : GpuKernelOpInterface::ExternalModel<GpuModel<Op, emit>, Op> {
  FailureOr<KernelLaunch> emitGpuKernel(Operation *op, OpBuilder &builder,
                                        StringRef name) const {
    return emit(builder, cast<Op>(op), name);
  }
};
using GpuRows = GpuModel<step::RowsOp, emitRowsForGpu>;
using GpuTogether = GpuModel<step::TogetherOp, emitTogetherForGpu>;
using GpuScatter = GpuModel<step::ScatterOp, emitScatterForGpu>;
using GpuSort = GpuModel<step::SortOp, emitSortForGpu>;
using GpuSortParts = GpuModel<step::SortPartsOp, emitSortPartsForGpu>;
using GpuMerge = GpuModel<step::MergeOp, emitMergeForGpu>;
using GpuSkinnyMatmul = GpuModel<step::SkinnyMatmulOp, emitSkinnyMatmulForGpu>;
using GpuCombine = GpuModel<step::CombineOp, emitCombineForGpu>;
using GpuRandom = GpuModel<step::RandomOp, emitRandomForGpu>;
using GpuAttention = GpuModel<step::AttentionOp, emitAttentionForGpu>;
using GpuQueryGradient =
    GpuModel<step::AttentionQueryGradientOp, emitQueryGradientForGpu>;
using GpuKeyValueGradient =
    GpuModel<step::AttentionKeyValueGradientOp, emitKeyValueGradientForGpu>;

} // namespace

void tp::codegen::registerKernelModels(DialectRegistry &registry) {
  registry.insert<step::StepDialect>();
  registry.addExtension(+[](MLIRContext *context, step::StepDialect *) {
    step::AttentionOp::attachInterface<GpuAttention>(*context);
    step::AttentionQueryGradientOp::attachInterface<GpuQueryGradient>(*context);
    step::AttentionKeyValueGradientOp::attachInterface<GpuKeyValueGradient>(
        *context);
    step::RowsOp::attachInterface<CpuRows, GpuRows>(*context);
    step::TogetherOp::attachInterface<CpuTogether, GpuTogether>(*context);
    step::ScatterOp::attachInterface<GpuScatter>(*context);
    step::SkinnyMatmulOp::attachInterface<GpuSkinnyMatmul>(*context);
    step::CombineOp::attachInterface<GpuCombine>(*context);
    step::RandomOp::attachInterface<GpuRandom>(*context);
    step::SortOp::attachInterface<GpuSort>(*context);
    step::SortPartsOp::attachInterface<GpuSortParts>(*context);
    step::MergeOp::attachInterface<GpuMerge>(*context);
  });
}

static LogicalResult emitNoKernel(Operation *op, StringRef target) {
  return op->emitError() << prefix(ErrorCode::NoKernel) << op->getName()
                         << " is not supported on a " << target;
}

FailureOr<func::FuncOp> tp::codegen::emitCpuKernel(OpBuilder &builder,
                                                   step::KernelOpInterface op,
                                                   StringRef name) {
  if (auto kernel = dyn_cast<CpuKernelOpInterface>(op.getOperation()))
    return kernel.emitCpuKernel(builder, name);
  return emitNoKernel(op, "CPU");
}

FailureOr<KernelLaunch> tp::codegen::emitGpuKernel(OpBuilder &builder,
                                                   step::KernelOpInterface op,
                                                   StringRef name) {
  if (auto kernel = dyn_cast<GpuKernelOpInterface>(op.getOperation()))
    return kernel.emitGpuKernel(builder, name);
  return emitNoKernel(op, "GPU");
}
