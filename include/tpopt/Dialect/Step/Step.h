// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The `step` dialect: what one device does, in order.
///
/// It is where the compiler's stages end and the back ends begin: a program is
/// a list of kernels, matrix products, collectives and copies on buffers, and
/// the artifact's step table is a transcript of it. An entry that doubles a
/// matrix, before its buffers have places:
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
/// **Row programs** hold all computing but matrix products. They say nothing of
/// vectors, threads or loops: `lib/Codegen` adds these for a target. The form
/// is that of the fused kernels of XLA and Triton reduced to what norms,
/// softmax and element-wise chains need: rows, reductions over them, and values
/// that stay in registers.
///
/// Units: sizes, strides and offsets of memrefs are elements; places in the
/// arena are bytes. Errors: verifiers say what a step lacks; user errors are
/// found before, when the program is lowered.

#ifndef TPOPT_DIALECT_STEP_STEP_H
#define TPOPT_DIALECT_STEP_STEP_H

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace tp::step {
/// Whether an op may be a kernel: operands are buffers, and it has no results.
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

/// The longest list of dimensions that a copy or a fill takes.
inline constexpr unsigned kMaxCopyRank = 8;
/// Batch dimensions of a matmul.
inline constexpr unsigned kNumBatchDims = 3;
/// Loops and branches inside each other.
inline constexpr unsigned kMaxNesting = 32;
/// Of a step.skinny_matmul.
inline constexpr int64_t kMaxSkinnyRows = 8;
/// Bytes of the longest row of a query, a key or a value, and what rows are
/// multiples of.
inline constexpr int64_t kMaxFeatureBytes = 512, kFeatureBytes = 16;
/// Where buffers in the arena may begin.
inline constexpr int64_t kArenaAlignment = 64;

/// Whether a type is a memref with static sizes, strides of at least 0, and a
/// static offset of at least 0.
bool isBuffer(mlir::Type type);

/// Of a value that is a buffer.
inline mlir::MemRefType bufferTypeOf(mlir::Value value) {
  return mlir::cast<mlir::MemRefType>(value.getType());
}

/// A buffer's strides and offset, in elements.
struct Strides {
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;
  explicit Strides(mlir::MemRefType type);
};

/// A buffer type with the layout written only if it is not the dense one.
mlir::MemRefType getBufferType(llvm::ArrayRef<int64_t> shape,
                               mlir::Type element,
                               llvm::ArrayRef<int64_t> strides, int64_t offset);

/// Row-major strides.
llvm::SmallVector<int64_t> getDenseStrides(llvm::ArrayRef<int64_t> shape);

/// Whether a buffer's elements stand in row-major order from offset 0.
bool isDense(mlir::MemRefType type);

/// Bytes of one element: i1 takes one.
int64_t getElementBytes(mlir::Type element);

/// Bytes from the start of the underlying memory to the end of the view.
int64_t getEndByte(mlir::MemRefType type);

/// Whether an op only names memory (`step.alloc`, `step.view`, `step.constant`,
/// `step.bundle`): nothing runs.
bool isBufferOp(mlir::Operation *op);

/// Whether an op runs the steps in its regions (`step.loop`, `step.while`,
/// `step.if`, `step.choose`). The regions of a kernel are no steps.
bool isControlOp(mlir::Operation *op);

/// Whether `step.skinny_matmul` can compute this product: see its constraints.
bool isSkinny(MatmulOp op);

/// The `step.loop` number `index` around a step, counted from the inside; null
/// if there are not so many.
LoopOp getLoop(mlir::Operation *op, uint64_t index);

/// The number of places along axes of the mesh of the program around `op`.
/// Fails with an error at `op` if the program has no mesh or the mesh no such
/// axis.
mlir::FailureOr<int64_t> getGroupSize(mlir::Operation *op,
                                      llvm::ArrayRef<spmd::AxisRefAttr> axes);

/// The number of positions that a view moves through, at least 1: the
/// iterations of its loop, or the places along its axes.
int64_t getNumPositions(ViewOp view);

/// The argument, alloc, constant or bundle that a buffer is a view of, or
/// itself.
mlir::Value getRoot(mlir::Value buffer);

} // namespace tp::step

#endif // TPOPT_DIALECT_STEP_STEP_H
