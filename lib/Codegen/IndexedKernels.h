// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// GPU kernels for ops that the CPU's runtime computes without kernels:
// scatters, sorts, the reductions of collectives and random numbers. On every
// run the results are bit-identical to those of the CPU's runtime.

#ifndef TPOPT_LIB_CODEGEN_INDEXEDKERNELS_H
#define TPOPT_LIB_CODEGEN_INDEXEDKERNELS_H

#include "lib/Codegen/Kernels.h"

namespace tp::codegen {

/// The destination is divided among the threads. Each thread goes through all
/// updates in order.
mlir::FailureOr<KernelLaunch> emitScatterForGpu(mlir::OpBuilder &builder,
                                                step::ScatterOp op,
                                                llvm::StringRef name);

/// Rows, or parts of rows, are sorted as described in `Sort.h`.
mlir::FailureOr<KernelLaunch>
emitSortForGpu(mlir::OpBuilder &builder, step::SortOp op, llvm::StringRef name);
mlir::FailureOr<KernelLaunch> emitSortPartsForGpu(mlir::OpBuilder &builder,
                                                  step::SortPartsOp op,
                                                  llvm::StringRef name);
mlir::FailureOr<KernelLaunch> emitMergeForGpu(mlir::OpBuilder &builder,
                                              step::MergeOp op,
                                              llvm::StringRef name);

/// The elements are divided among the threads. The number of elements is a
/// scalar operand of the step.
mlir::FailureOr<KernelLaunch> emitCombineForGpu(mlir::OpBuilder &builder,
                                                step::CombineOp op,
                                                llvm::StringRef name);

/// The elements are divided among the threads. A thread computes an element
/// from the seed and the element's index.
mlir::FailureOr<KernelLaunch> emitRandomForGpu(mlir::OpBuilder &builder,
                                               step::RandomOp op,
                                               llvm::StringRef name);

/// Combines `old` and `update`, in this order, with the same result as the
/// runtime: NaN is propagated. Both are of type `element`, or of the type in
/// which such elements are stored.
mlir::Value combineInOrder(mlir::OpBuilder &builder, mlir::Location loc,
                           step::ScatterKind kind, mlir::Type element,
                           mlir::Value old, mlir::Value update);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_INDEXEDKERNELS_H
