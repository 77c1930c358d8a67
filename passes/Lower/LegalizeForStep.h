// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A function made ready for lowering: plain tensor types, and only ops
/// that have a form of their own in steps.

#ifndef TPOPT_PASSES_LOWER_LEGALIZEFORSTEP_H
#define TPOPT_PASSES_LOWER_LEGALIZEFORSTEP_H

#include "lib/Target/Target.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// What the types' encodings said about an op, or one part of it.
struct LocalInfo {
  ReshardStep step;        ///< Of a collective.
  TensorSharding sharding; ///< Of the input.
  llvm::SmallVector<int64_t> global;
};
using LocalInfos =
    llvm::DenseMap<mlir::Operation *, llvm::SmallVector<LocalInfo, 1>>;

/// Whether a value is a tensor without elements.
bool isEmpty(mlir::Value value);

/// Leaves nothing in a function that computes, sends or carries such values,
/// but for constants and what the function itself takes and returns. What is
/// erased is forgotten in `infos`.
void dropEmpty(mlir::func::FuncOp function, LocalInfos &infos);

/// Takes the encodings off, inlines manual regions, decomposes, and brings
/// reductions and contractions into their basic forms: a reduction is over the
/// last dimension, a contraction's letters are in the result or in both
/// operands. `mesh` is null if the function has none. Fails, with an error,
/// where the function is not local.
mlir::FailureOr<LocalInfos> legalizeForStep(mlir::func::FuncOp function,
                                            const Mesh *mesh,
                                            const codegen::Target &target);

/// Attention over a whole sequence, or a gradient of it, as that over blocks.
void splitCausalAttention(AttentionOpInterface op);
/// Whether attention, or a gradient of it, stays whole and becomes a step.
bool hasAttentionKernel(AttentionOpInterface op, const codegen::Target &target);
/// Brings it into the form that its kernels take, or into blocks for a
/// target that has none. Remarks where kernels that there are do not fit.
void prepareAttention(AttentionOpInterface op, const codegen::Target &target);

/// Replaces spmd.block and spmd.assemble by dynamic slices where their blocks
/// are not aligned as buffers are.
void copyUnalignedBlocks(mlir::Block &block);

/// Where a dynamic slice begins that moves evenly from turn to turn of a loop.
struct Motion {
  spmd::RegionFlowOpInterface loop;
  llvm::SmallVector<int64_t> starts; ///< In the first turn.
  llvm::SmallVector<int64_t> moves;  ///< From each turn to the next.
};

/// Makes slices of the dynamic ones of a block that begin at known places, and
/// finds those that move evenly, so that `getMotion` knows them.
void findMotions(mlir::Block &block);
/// None if a slice begins where only the run can say.
std::optional<Motion> getMotion(DynamicSliceOp op);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_LEGALIZEFORSTEP_H
