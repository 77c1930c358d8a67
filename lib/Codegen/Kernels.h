// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Compiles steps to kernels.
///
/// Everything except matrix products, collectives and plain copies is executed
/// by kernels: functions compiled for one step. `KernelInterfaces.td` defines
/// which steps have one on a CPU and which on a GPU. Most are row programs,
/// which the rest of this comment is about.
///
/// `step.rows` describes the computation of one element; a target decides in
/// which order, and by which threads, elements are visited. One emitter serves
/// both targets, using three concepts. A *chunk* is some columns of a row as
/// one vector. A *walk* is the sequence of chunks that a thread processes. The
/// result of a reduction is known only at the end of a walk, so a row program
/// consists of phases, and the walk is repeated for each phase. Threads that
/// share a row *combine* their partial reductions.
///
/// Softmax of [512, 4096] on a CPU, where one thread processes a row:
///
///     for each row
///       for columns in steps of 64:  m = max(m, x)          vector<64xf32>
///       for columns in steps of 64:  e = exp(x - m); s += e; keep e
///       for columns in steps of 64:  y = e / s
///
/// and on a GPU, where a block of 256 threads processes a row, and each thread
/// keeps 16 elements in registers:
///
///     x0..x3 = load 16 bytes at 4 * (thread + 0, 256, 512, 768)
///     m = max(x0..x3), then over the warp by shuffles, then over the block
///     e0..e3 = exp(x0..x3 - m); s = the same for their sum
///     store e0..e3 / s
///
/// Columns: on a CPU the columns left over at the end of a row form a chunk
/// that reaches back into columns that have been processed, with a mask for its
/// reductions and stores. On a GPU the width of a chunk divides the row, so
/// that a thread has whole chunks; threads without a chunk compute the chunk of
/// another thread and store nothing.
///
/// Rows: short ones (128 columns on a CPU, 16384 on a GPU) stay in registers
/// from phase to phase. For longer rows, values that are expensive to compute
/// are kept in a buffer of one row on a CPU, and recomputed on a GPU.
///
/// On a GPU, a warp processes a row of up to 1024 columns, and a block a longer
/// one. Programs without reductions are divided into chunks regardless of rows.
///
/// The order of a sum depends only on the row's length and the target, so the
/// same sizes give the same bits.

#ifndef TPOPT_CODEGEN_KERNELS_H
#define TPOPT_CODEGEN_KERNELS_H

#include "tpopt/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tp::codegen {

/// How a GPU kernel is launched: the number of blocks and the threads of each,
/// all along x, and the shared memory of a block that the kernel does not
/// declare itself.
struct KernelLaunch {
  int64_t blocks = 1;
  int64_t threads = 1;
  int64_t sharedBytes = 0;
};

} // namespace tp::codegen

#include "lib/Codegen/KernelInterfaces.h.inc"

namespace tp::codegen {

/// Emits the kernel of a step for a CPU as the function `name`, with the ABI of
/// `tprt::KernelRow`. Emits an error at the step if it has no CPU kernel.
mlir::FailureOr<mlir::func::FuncOp> emitCpuKernel(mlir::OpBuilder &builder,
                                                  step::KernelOpInterface op,
                                                  llvm::StringRef name);

/// Emits the kernel of a step for a GPU as the function `name` at the insertion
/// point, which must be in a `gpu.module`. The ABI is that of
/// `tprt::LaunchRow`: for each operand, a bare pointer to its first element in
/// global memory, and for each scalar an i64. If the module has a target
/// (`createGpuModule`), the kernel may be specialised for its chip. Emits an
/// error at the step if it has no kernel.
mlir::FailureOr<KernelLaunch> emitGpuKernel(mlir::OpBuilder &builder,
                                            step::KernelOpInterface op,
                                            llvm::StringRef name);

/// Creates a `step.combine` for each reduction among devices that the module's
/// collectives need, by element type, kind and group size, in program order.
/// The steps have buffers of one element, but their kernels work on any number.
mlir::OwningOpRef<mlir::ModuleOp> createCombinations(mlir::ModuleOp module);

/// Creates a `step.random`, with one element, for each element type of the
/// programs' inputs, in program order.
mlir::OwningOpRef<mlir::ModuleOp> createRandoms(mlir::ModuleOp module);

/// Attaches kernel interfaces to those ops of the step dialect that have
/// kernels.
void registerKernelModels(mlir::DialectRegistry &registry);

} // namespace tp::codegen

#endif // TPOPT_CODEGEN_KERNELS_H
