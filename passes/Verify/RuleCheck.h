// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Whether the shardings of an op's tensors keep its rule.
//
// Written from the rule's meaning alone: passes decide by projections and
// strategies, and what decides must not be what checks.

#ifndef TPOPT_PASSES_VERIFY_RULECHECK_H
#define TPOPT_PASSES_VERIFY_RULECHECK_H

#include "tpopt/Sharding/Sharding.h"

#include "mlir/IR/Operation.h"

namespace tp {

/// Checks an op with a sharding rule; `shardings` are those of its operands and
/// then its results, `isLocal` says whether its types are those of one device.
/// Emits errors.
mlir::LogicalResult verifyRule(mlir::Operation *op, const Mesh &mesh,
                               llvm::ArrayRef<TensorSharding> shardings,
                               bool isLocal);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_RULECHECK_H
