// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file From steps to kernels.
///
/// Everything but matrix products, collectives and plain copies is executed by
/// kernels: functions compiled for one step. `KernelInterfaces.td` says which
/// steps have one on a CPU and which on a GPU; most are row programs, of which
/// the rest of this tells.
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

namespace tp::codegen {

/// How a GPU kernel is launched: blocks and threads of each, all along x, and
/// the shared memory of a block that the kernel does not declare itself.
struct KernelLaunch {
  int64_t blocks = 1;
  int64_t threads = 1;
  int64_t sharedBytes = 0;
};

} // namespace tp::codegen

#include "lib/Codegen/KernelInterfaces.h.inc"

namespace tp::codegen {

/// Emits the kernel of a step for a CPU as the function `name`, with the ABI of
/// `tprt::KernelRow`. Emits an error at the step if there is none.
mlir::FailureOr<mlir::func::FuncOp> emitCpuKernel(mlir::OpBuilder &builder,
                                                  step::KernelOpInterface op,
                                                  llvm::StringRef name);

/// Emits the kernel of a step for a GPU as the function `name` where `builder`
/// stands, in a `gpu.module`, with the ABI of `tprt::LaunchRow`: one bare
/// pointer into global memory per operand, to where it begins, and one i64 per
/// scalar. It has the form for the chip of the module's target, if there is one
/// (`createGpuModule`). Emits an error at the step if there is no kernel.
mlir::FailureOr<KernelLaunch> emitGpuKernel(mlir::OpBuilder &builder,
                                            step::KernelOpInterface op,
                                            llvm::StringRef name);

/// A `step.combine` for each reduction among devices that the module's
/// collectives need: of their element types, kinds and group sizes, in program
/// order. They work on buffers of one element, as their kernels do on any.
mlir::OwningOpRef<mlir::ModuleOp> createCombinations(mlir::ModuleOp module);

/// A `step.random` for each element type of the programs' inputs, in program
/// order, of one element.
mlir::OwningOpRef<mlir::ModuleOp> createRandoms(mlir::ModuleOp module);

/// Gives the ops of the step dialect the interfaces for the kernels they have.
void registerKernelModels(mlir::DialectRegistry &registry);

} // namespace tp::codegen

#endif // TPOPT_CODEGEN_KERNELS_H
