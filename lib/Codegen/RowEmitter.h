// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The target-independent part of compiling a row program. It emits the code in
// which a thread visits the chunks of a row. A target defines the chunks
// (`RowWalk`) and the operations that combine the threads of a row
// (`RowTarget`). The target also creates the function that contains the code.

#ifndef TPOPT_LIB_CODEGEN_ROWEMITTER_H
#define TPOPT_LIB_CODEGEN_ROWEMITTER_H

#include "RowAnalysis.h"

namespace tp::codegen {

/// Columns first .. first+width-1 of the row being emitted, as one vector.
struct Chunk {
  mlir::Value first; ///< i64
  int64_t width = 1;
  /// A divisor of `first`.
  int64_t alignment = 1;
  /// The columns that belong to this chunk: one i1 for the whole chunk, or one
  /// per lane; null means all columns. The other columns exist, so they are
  /// computed, but this chunk neither reduces nor stores them, since another
  /// chunk does.
  mlir::Value own;
  /// The values that have been computed for this chunk.
  llvm::DenseMap<mlir::Value, mlir::Value> vectors;
};

/// The chunks that a thread processes in each phase. Either they are in
/// `resident`, and their vectors stay in registers from phase to phase; or a
/// loop processes most of them, and `rest` contains the others.
struct RowWalk {
  llvm::SmallVector<Chunk> resident;
  mlir::Value begin, end, step; ///< i64, of the loop.
  int64_t width = 1;            ///< Columns per chunk of the loop.
  llvm::SmallVector<Chunk> rest;
};

class RowTarget {
public:
  virtual ~RowTarget() = default;
  /// Combines `partial`, one scalar from each of the threads that share a row,
  /// and returns the result to all of them.
  virtual mlir::Value combineThreads(mlir::OpBuilder &builder,
                                     step::Reduction kind,
                                     mlir::Value partial) = 0;
  /// Emits code that only one of the threads sharing a row executes.
  virtual void emitOnce(mlir::OpBuilder &builder,
                        llvm::function_ref<void()> emit) = 0;
  /// Allocates memory of a thread for the elements of one value along a row.
  /// Returns null if the thread should recompute them.
  virtual mlir::Value allocateRow(mlir::OpBuilder &builder,
                                  mlir::Type element) = 0;
  /// The alignment of buffers in bytes.
  virtual int64_t getBufferAlignment() const = 0;
};

/// Values of the surrounding function that the body of the program uses.
struct RowContext {
  llvm::SmallVector<mlir::Value> pointers;              ///< One per operand.
  llvm::DenseMap<mlir::Attribute, mlir::Value> scalars; ///< See getScalars.
  mlir::Value row;                                      ///< i64

  /// If this is the context of a `step.together` op: returns the context of one
  /// row program in that op.
  RowContext getPart(step::RowsOp rows) const {
    RowContext part;
    part.scalars = scalars;
    for (mlir::Value operand : rows->getOperands())
      part.pointers.push_back(
          pointers[mlir::cast<mlir::BlockArgument>(operand).getArgNumber()]);
    return part;
  }
};

/// Emits one row of `rows` at the insertion point.
void emitRow(mlir::OpBuilder &builder, step::RowsOp rows,
             const RowAnalysis &analysis, const RowContext &context,
             RowWalk walk, RowTarget &target);

/// Combines `a` and `b`, which are scalars or vectors.
mlir::Value combineValues(mlir::OpBuilder &builder, mlir::Location loc,
                          step::Reduction kind, mlir::Value a, mlir::Value b);
/// Combines all lanes of a vector, in an order that depends only on its width.
mlir::Value reduceVector(mlir::OpBuilder &builder, mlir::Location loc,
                         step::Reduction kind, mlir::Value vector);
/// The neutral element of a reduction.
mlir::Value getIdentity(mlir::OpBuilder &builder, mlir::Location loc,
                        step::Reduction kind, mlir::Type type);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_ROWEMITTER_H
