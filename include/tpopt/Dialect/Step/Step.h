// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The `step` dialect: the steps that one device executes, in order.
///
/// This is the interface between the compiler's stages and the back ends. A
/// program is a list of kernels, matrix products, collectives and copies on
/// buffers, and the artifact's step table lists the same steps. An entry that
/// doubles a matrix, before its buffers have addresses:
///
///     step.program @main inputs [#step.input<"x", input,
///         tensor<4x8xf32>>] outputs [#step.output<"y", tensor<4x8xf32>>] {
///     ^bb0(%x: memref<4x8xf32>, %y: memref<4x8xf32>):
///       step.rows [4, 8] reads(%x : memref<4x8xf32>)
///                        writes(%y : memref<4x8xf32>) {
///       ^bb0(%a: memref<4x8xf32>, %b: memref<4x8xf32>):
///         %0 = step.load %a : memref<4x8xf32>
///         %1 = arith.addf %0, %0 : f32
///         step.store %1 to %b : f32, memref<4x8xf32>
///       }
///     }
///
/// **Row programs** do all computation except matrix products. They do not
/// mention vectors, threads or loops: `lib/Codegen` adds these for a target.
/// Row programs resemble the fused kernels of XLA and Triton, reduced to what
/// norms, softmax and element-wise chains need: rows, reductions over them, and
/// values that stay in registers.
///
/// Units: sizes, strides and offsets of memrefs are in elements, offsets in the
/// arena in bytes. Errors: verifiers say which constraint a step violates; user
/// errors are found earlier, when the program is lowered.

#ifndef TPOPT_DIALECT_STEP_STEP_H
#define TPOPT_DIALECT_STEP_STEP_H

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace tp::step {
/// Checks that an op may be a kernel: its operands are buffers, and it has no
/// results.
mlir::LogicalResult verifyKernel(mlir::Operation *op);
} // namespace tp::step

#include "tpopt/Dialect/Step/StepDialect.h.inc"
#include "tpopt/Dialect/Step/StepEnums.h.inc"
#include "tpopt/Dialect/Step/StepInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tpopt/Dialect/Step/StepAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "tpopt/Dialect/Step/StepTypes.h.inc"
#define GET_OP_CLASSES
#include "tpopt/Dialect/Step/StepOps.h.inc"

namespace tp::step {

/// The most dimensions that a copy or a fill supports.
inline constexpr unsigned kMaxCopyRank = 8;
/// The number of batch dimensions of a matmul.
inline constexpr unsigned kNumBatchDims = 3;
/// The maximum depth of nested loops and branches.
inline constexpr unsigned kMaxNesting = 32;
/// The most rows of a step.skinny_matmul.
inline constexpr int64_t kMaxSkinnyRows = 8;
/// The most rows of a step.attention with two warps for the same rows.
inline constexpr int64_t kMaxTwoWarpRows = 16;
/// The maximum number of bytes in a row of a query, a key or a value. The
/// number is always a multiple of kFeatureBytes.
inline constexpr int64_t kMaxFeatureBytes = 512, kFeatureBytes = 16;
/// The alignment of buffers in the arena.
inline constexpr int64_t kArenaAlignment = 64;

/// Whether a type is a memref with static sizes, strides of at least 0, and a
/// static offset of at least 0.
bool isBuffer(mlir::Type type);

/// The type of a value that is a buffer.
inline mlir::MemRefType bufferTypeOf(mlir::Value value) {
  return mlir::cast<mlir::MemRefType>(value.getType());
}

/// A buffer's strides and offset, in elements.
struct Strides {
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;
  explicit Strides(mlir::MemRefType type);
};

/// Returns a buffer type. It has an explicit layout only if it is not dense.
mlir::MemRefType getBufferType(llvm::ArrayRef<int64_t> shape,
                               mlir::Type element,
                               llvm::ArrayRef<int64_t> strides, int64_t offset);

/// Row-major strides.
llvm::SmallVector<int64_t> getDenseStrides(llvm::ArrayRef<int64_t> shape);

/// Whether a buffer's elements are contiguous, in row-major order, from offset
/// 0.
bool isDense(mlir::MemRefType type);

/// Whether the offset of a view depends on an iteration or a position.
bool isMoving(mlir::Value buffer);
/// Whether a buffer is dense and does not move.
bool isDense(mlir::Value buffer);

/// Bytes of one element; an i1 takes one byte.
int64_t getElementBytes(mlir::Type element);

/// Bytes from the start of the underlying memory to the end of the view.
int64_t getEndByte(mlir::MemRefType type);

/// Whether an op only names memory (`step.alloc`, `step.view`, `step.constant`,
/// `step.bundle`), so that nothing is executed.
bool isBufferOp(mlir::Operation *op);

/// Whether an op runs the steps in its regions (`step.loop`, `step.while`,
/// `step.if`, `step.choose`). The regions of a kernel do not contain steps.
bool isControlOp(mlir::Operation *op);

/// Whether `step.skinny_matmul` can compute this product; see that op's
/// constraints.
bool isSkinny(MatmulOp op);

/// The `step.loop` number `index` around a step, counted from the innermost;
/// null if there are not that many loops.
LoopOp getLoop(mlir::Operation *op, uint64_t index);

/// The number of positions along axes of the enclosing program's mesh. Fails
/// with an error at `op` if the program has no mesh or the mesh has no such
/// axis.
mlir::FailureOr<int64_t> getGroupSize(mlir::Operation *op,
                                      llvm::ArrayRef<spmd::AxisRefAttr> axes);

/// The number of different addresses that a view may have, at least 1: one for
/// each iteration of its loop, or for each position along its axes.
int64_t getNumPositions(ViewOp view);

/// The argument, alloc, constant or bundle that a buffer is a view of, or the
/// buffer itself if it is not a view.
mlir::Value getRoot(mlir::Value buffer);

} // namespace tp::step

#endif // TPOPT_DIALECT_STEP_STEP_H
