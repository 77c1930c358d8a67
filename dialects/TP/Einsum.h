// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The common parts of ops that contract tensors.

#ifndef TPOPT_DIALECTS_TP_EINSUM_H
#define TPOPT_DIALECTS_TP_EINSUM_H

#include "tpopt/Dialect/TP/TP.h"

namespace tp {

/// Checks the constraints of tp.einsum for a product that `op` computes; errors
/// are emitted at `op`.
mlir::LogicalResult verifyEinsum(mlir::Operation *op, llvm::StringRef equation,
                                 mlir::Value lhs, mlir::Value rhs,
                                 mlir::Value result);

/// Returns the axes along which the letters that an einsum sums over are
/// sharded, merged. Returns nullopt if a letter is sharded along different axes
/// in the two operands.
std::optional<AxisList> getSummedAxes(const EinsumTerms &terms,
                                      const TensorSharding &lhs,
                                      const TensorSharding &rhs);

} // namespace tp

#endif // TPOPT_DIALECTS_TP_EINSUM_H
