// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The kernels of row programs; see lib/Codegen/Kernels.h.

#ifndef TPOPT_LIB_CODEGEN_ROWKERNELS_H
#define TPOPT_LIB_CODEGEN_ROWKERNELS_H

#include "lib/Codegen/Kernels.h"

namespace tp::codegen {

mlir::func::FuncOp emitRowsForCpu(mlir::OpBuilder &builder, step::RowsOp rows,
                                  llvm::StringRef name);
mlir::FailureOr<KernelLaunch> emitRowsForGpu(mlir::OpBuilder &builder,
                                             step::RowsOp rows,
                                             llvm::StringRef name);

/// Several row programs in one kernel. On a CPU the rows of all programs, one
/// program after the other, are divided among threads. On a GPU each program
/// has its own blocks.
mlir::func::FuncOp emitTogetherForCpu(mlir::OpBuilder &builder,
                                      step::TogetherOp op,
                                      llvm::StringRef name);
mlir::FailureOr<KernelLaunch> emitTogetherForGpu(mlir::OpBuilder &builder,
                                                 step::TogetherOp op,
                                                 llvm::StringRef name);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_ROWKERNELS_H
