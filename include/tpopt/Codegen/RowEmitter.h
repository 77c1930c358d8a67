// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file From row programs to loops over vectors.
///
/// `step.rows` says what happens to one element; an emitter says in which order
/// a target goes through them. For softmax of [4, 4096] on a CPU that is
///
///     for each row
///       for columns in steps of 16:  m = max(m, x)          vector<16xf32>
///       for columns in steps of 16:  e = exp(x - m); s += e; keep e
///       for columns in steps of 16:  y = e / s
///
/// A row program falls into phases: what a reduction's result enters comes a
/// phase later. Within a phase all reductions and stores share one loop. Values
/// that are dear to compute and that a later phase needs are kept in a buffer
/// of one row; others are computed again. Short rows need neither loop nor
/// buffer: the whole row is one vector. Columns that are left over at the end
/// are a narrower vector, so there are no masks.
///
/// Reductions go over lanes first and then over the vector; the order depends
/// on the row's length alone, so the same sizes give the same bits.
///
/// The kernel has the ABI of `tprt::KernelRow`: pointers to the operands'
/// first elements, the device's coordinates (`getCoordinates`), and a range of
/// rows.

#ifndef TPOPT_CODEGEN_ROWEMITTER_H
#define TPOPT_CODEGEN_ROWEMITTER_H

#include "tpopt/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// How a target goes through rows.
struct RowPolicy {
  /// Elements per step along a row.
  int64_t vectorWidth = 16;
  /// Rows of at most so many elements, if they are a multiple of the width, are
  /// one vector.
  int64_t maxWholeRow = 64;
};

/// The axes whose coordinates a row program asks for: its kernel's scalars.
llvm::SmallVector<spmd::AxisRefAttr> getCoordinates(step::RowsOp rows);

/// Emits a row program as the function `name` in the arith, llvm, math, scf and
/// vector dialects.
mlir::func::FuncOp emitRows(mlir::OpBuilder &builder, step::RowsOp rows,
                            llvm::StringRef name, const RowPolicy &policy);

} // namespace tp

#endif // TPOPT_CODEGEN_ROWEMITTER_H
