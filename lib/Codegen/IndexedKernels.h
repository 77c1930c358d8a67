// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// GPU kernels of what the CPU's runtime computes without kernels: scatters,
// sorts, the reductions of collectives and random numbers. Results are the same
// bits as its, on every run.

#ifndef TPOPT_LIB_CODEGEN_INDEXEDKERNELS_H
#define TPOPT_LIB_CODEGEN_INDEXEDKERNELS_H

#include "lib/Codegen/Kernels.h"

namespace tp::codegen {

/// Threads share the destination, and each walks through all updates in order.
mlir::FailureOr<KernelLaunch> emitScatterForGpu(mlir::OpBuilder &builder,
                                                step::ScatterOp op,
                                                llvm::StringRef name);

/// Rows, or their parts, are sorted as `Sort.h` says.
mlir::FailureOr<KernelLaunch>
emitSortForGpu(mlir::OpBuilder &builder, step::SortOp op, llvm::StringRef name);
mlir::FailureOr<KernelLaunch> emitSortPartsForGpu(mlir::OpBuilder &builder,
                                                  step::SortPartsOp op,
                                                  llvm::StringRef name);
mlir::FailureOr<KernelLaunch> emitMergeForGpu(mlir::OpBuilder &builder,
                                              step::MergeOp op,
                                              llvm::StringRef name);

/// Threads share the elements, of which the scalar says how many there are.
mlir::FailureOr<KernelLaunch> emitCombineForGpu(mlir::OpBuilder &builder,
                                                step::CombineOp op,
                                                llvm::StringRef name);

/// Threads share the elements, and each makes its own of the seed and the
/// place.
mlir::FailureOr<KernelLaunch> emitRandomForGpu(mlir::OpBuilder &builder,
                                               step::RandomOp op,
                                               llvm::StringRef name);

/// `old` and then `update`, of `element` or stored as it is, as the runtime
/// combines them: what is not a number is passed on.
mlir::Value combineInOrder(mlir::OpBuilder &builder, mlir::Location loc,
                           step::ScatterKind kind, mlir::Type element,
                           mlir::Value old, mlir::Value update);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_INDEXEDKERNELS_H
