// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What all targets share of the way from a row program to code: a thread that
// goes through chunks of a row. A target says which chunks (`RowWalk`), what
// the threads that share a row do together (`RowTarget`), and writes the
// function around it.

#ifndef TPOPT_LIB_CODEGEN_ROWEMITTER_H
#define TPOPT_LIB_CODEGEN_ROWEMITTER_H

#include "RowAnalysis.h"

namespace tp::codegen {

/// Columns first .. first+width-1 of the row being emitted, as one vector.
struct Chunk {
  mlir::Value first; ///< i64
  int64_t width = 1;
  /// A number that `first` is a multiple of.
  int64_t alignment = 1;
  /// Which columns are this chunk's own: an i1 for all of them, or one per
  /// lane; none means all. Others are computed, since they exist, but neither
  /// reduced nor stored: someone else does.
  mlir::Value own;
  /// What has been computed for it.
  llvm::DenseMap<mlir::Value, mlir::Value> vectors;
};

/// The chunks that a thread goes through in each phase: those of `resident`,
/// whose vectors stay in registers from phase to phase, or those of a loop and
/// then `rest`.
struct RowWalk {
  llvm::SmallVector<Chunk> resident;
  mlir::Value begin, end, step; ///< i64, of the loop.
  int64_t width = 1;            ///< Columns of the loop's chunks.
  llvm::SmallVector<Chunk> rest;
};

class RowTarget {
public:
  virtual ~RowTarget() = default;
  /// What all threads that share a row get from combining `partial`, one scalar
  /// from each.
  virtual mlir::Value combineThreads(mlir::OpBuilder &builder,
                                     step::Reduction kind,
                                     mlir::Value partial) = 0;
  /// Has `emit` done by one of the threads that share a row.
  virtual void emitOnce(mlir::OpBuilder &builder,
                        llvm::function_ref<void()> emit) = 0;
  /// Memory of a thread for one value of a row; none if it should compute
  /// again.
  virtual mlir::Value allocateRow(mlir::OpBuilder &builder,
                                  mlir::Type element) = 0;
  /// Bytes that buffers begin at multiples of.
  virtual int64_t getBufferAlignment() const = 0;
};

/// What the surrounding function has for the body of the program.
struct RowContext {
  llvm::SmallVector<mlir::Value> pointers;              ///< One per operand.
  llvm::DenseMap<mlir::Attribute, mlir::Value> scalars; ///< See getScalars.
  mlir::Value row;                                      ///< i64

  /// If these are of a step.together: what one of its row programs has.
  RowContext getPart(step::RowsOp rows) const {
    RowContext part;
    part.scalars = scalars;
    for (mlir::Value operand : rows->getOperands())
      part.pointers.push_back(
          pointers[mlir::cast<mlir::BlockArgument>(operand).getArgNumber()]);
    return part;
  }
};

/// Emits one row of `rows` where `builder` stands.
void emitRow(mlir::OpBuilder &builder, step::RowsOp rows,
             const RowAnalysis &analysis, const RowContext &context,
             RowWalk walk, RowTarget &target);

/// `a` and `b`, scalars or vectors, combined.
mlir::Value combineValues(mlir::OpBuilder &builder, mlir::Location loc,
                          step::Reduction kind, mlir::Value a, mlir::Value b);
/// All lanes of a vector combined, in an order that its width decides.
mlir::Value reduceVector(mlir::OpBuilder &builder, mlir::Location loc,
                         step::Reduction kind, mlir::Value vector);
/// What combines with anything to that.
mlir::Value getIdentity(mlir::OpBuilder &builder, mlir::Location loc,
                        step::Reduction kind, mlir::Type type);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_ROWEMITTER_H
