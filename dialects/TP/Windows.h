// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Building windows.

#ifndef TPOPT_DIALECTS_TP_WINDOWS_H
#define TPOPT_DIALECTS_TP_WINDOWS_H

#include "tpopt/Dialect/TP/TP.h"

namespace tp {

/// Creates a tp.window of type `type`. `fill` may be null if no window reads
/// outside of `input`.
mlir::Value emitWindow(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::RankedTensorType type, mlir::Value input,
                       mlir::Value fill, llvm::ArrayRef<int64_t> dims,
                       llvm::ArrayRef<int64_t> low,
                       llvm::ArrayRef<int64_t> strides,
                       llvm::ArrayRef<int64_t> dilations);

} // namespace tp

#endif // TPOPT_DIALECTS_TP_WINDOWS_H
