// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Prepares a function for lowering: afterwards it has plain tensor
/// types, and only ops that lower directly to steps.

#ifndef TPOPT_PASSES_LOWER_LEGALIZEFORSTEP_H
#define TPOPT_PASSES_LOWER_LEGALIZEFORSTEP_H

#include "lib/Target/Target.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Information about an op, or about one part of a combined collective, taken
/// from the encodings of its types.
struct LocalInfo {
  ReshardStep step;        ///< For collectives.
  TensorSharding sharding; ///< The input's sharding.
  llvm::SmallVector<int64_t> global;
};
using LocalInfos =
    llvm::DenseMap<mlir::Operation *, llvm::SmallVector<LocalInfo, 1>>;

/// Returns true if a value is a tensor without elements.
bool isEmpty(mlir::Value value);

/// Removes all ops that compute, send or carry empty tensors from a function,
/// except for constants and the function's own arguments and results. The
/// entries of erased ops are removed from `infos`.
void dropEmpty(mlir::func::FuncOp function, LocalInfos &infos);

/// Removes the encodings, inlines manual regions, decomposes ops, and brings
/// reductions and contractions into their basic forms: a reduction is over the
/// last dimension, and each letter of a contraction is in the result or in both
/// operands. `mesh` is null if the function has none. Fails with an error if
/// the function is not local.
mlir::FailureOr<LocalInfos> legalizeForStep(mlir::func::FuncOp function,
                                            const Mesh *mesh,
                                            const codegen::Target &target);

/// Rewrites attention over a whole sequence, or a gradient of attention, as
/// attention over blocks of queries.
void splitCausalAttention(AttentionOpInterface op);
/// Returns true if attention, or a gradient of it, is lowered to a dedicated
/// step and must not be decomposed.
bool hasAttentionKernel(AttentionOpInterface op, const codegen::Target &target);
/// Brings attention into the form that the target's kernels accept, or splits
/// it into blocks if the target has no kernels. Emits a remark if the target
/// has kernels that cannot compute `op`.
void prepareAttention(AttentionOpInterface op, const codegen::Target &target);

/// Replaces spmd.block and spmd.assemble by dynamic slices if their blocks do
/// not have the alignment that buffers need.
void copyUnalignedBlocks(mlir::Block &block);

/// The start of a dynamic slice or update that moves by a constant amount per
/// iteration of a loop.
struct Motion {
  spmd::RegionFlowOpInterface loop;
  llvm::SmallVector<int64_t> starts; ///< In the first iteration.
  llvm::SmallVector<int64_t> moves;  ///< Per iteration.
};

/// Replaces the dynamic slices of a block that begin at known positions by
/// static ones. Finds the dynamic slices and updates whose start moves by a
/// constant amount per iteration of a loop; getMotion() returns these motions.
void findMotions(mlir::Block &block);
/// None if the start is only known at run time.
std::optional<Motion> getMotion(DynamicSliceOp op);
std::optional<Motion> getMotion(DynamicUpdateSliceOp op);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_LEGALIZEFORSTEP_H
