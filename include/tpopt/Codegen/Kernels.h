// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file From row programs to kernels.
///
/// `step.rows` says what happens to one element; a target says in which order
/// and by whom elements are visited. One emitter writes both, from three
/// notions. A *chunk* is some columns of a row as one vector. A *walk* is the
/// chunks that a thread goes through; a row program falls into phases, since
/// what a reduction's result enters comes after it, and the walk is repeated
/// for each. Threads that share a row *combine* what each has reduced.
///
/// Softmax of [512, 4096] on a CPU, where one thread has a row:
///
///     for each row
///       for columns in steps of 64:  m = max(m, x)          vector<64xf32>
///       for columns in steps of 64:  e = exp(x - m); s += e; keep e
///       for columns in steps of 64:  y = e / s
///
/// and on a GPU, where a block of 256 threads has one, 16 elements in the
/// registers of each:
///
///     x0..x3 = load 16 bytes at 4 * (thread + 0, 256, 512, 768)
///     m = max(x0..x3), then over the warp by shuffles, then over the block
///     e0..e3 = exp(x0..x3 - m); s = the same for their sum
///     store e0..e3 / s
///
/// Columns: on a CPU what is left over at a row's end is a chunk that reaches
/// back into columns that are done, with a mask for what it adds and stores. On
/// a GPU a chunk is as wide as divides the row, so that a thread has whole
/// chunks; threads without one compute another's and store nothing.
///
/// Rows: short ones (128 columns on a CPU, 16384 on a GPU) stay in registers
/// from phase to phase. Of longer ones, values that are dear to compute are
/// kept in a buffer of one row on a CPU, and computed again on a GPU.
///
/// On a GPU a warp has rows of up to 1024 columns, a block longer ones, and
/// programs without reductions are cut into chunks without regard to rows.
///
/// The order of a sum depends on the row's length and the target alone, so the
/// same sizes give the same bits.

#ifndef TPOPT_CODEGEN_KERNELS_H
#define TPOPT_CODEGEN_KERNELS_H

#include "tpopt/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tp {

/// What a row program asks the device for, its kernel's scalars: a place along
/// an axis (`spmd::AxisRefAttr`), or the turn of an enclosing loop, by the
/// loop's number (`mlir::IntegerAttr`).
llvm::SmallVector<mlir::Attribute> getScalars(step::RowsOp rows);

/// Emits a row program as the function `name` in the arith, llvm, math, scf and
/// vector dialects. It has the ABI of `tprt::KernelRow`: a table of pointers to
/// where the operands begin, a table of scalars, and a range of rows.
mlir::func::FuncOp emitCpuKernel(mlir::OpBuilder &builder, step::RowsOp rows,
                                 llvm::StringRef name);

/// How a GPU kernel is launched: blocks and threads of each, all along x.
struct Launch {
  int64_t blocks = 1;
  int64_t threads = 1;
};

/// Emits a row program as the kernel `name` where `builder` stands, in a
/// `gpu.module`. Its arguments are one bare pointer into global memory per
/// operand, to where it begins, and one i64 per scalar. Buffers must begin
/// at multiples of 64 bytes before their views' offsets, as the arena's do.
Launch emitGpuKernel(mlir::OpBuilder &builder, step::RowsOp rows,
                     llvm::StringRef name);

} // namespace tp

#endif // TPOPT_CODEGEN_KERNELS_H
