// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Checks that the shardings of an op's tensors obey its rule.
//
// The check follows only from the meaning of rules. It does not use the
// projections and strategies by which passes choose shardings, since that code
// must not check itself.

#ifndef TPOPT_PASSES_VERIFY_RULECHECK_H
#define TPOPT_PASSES_VERIFY_RULECHECK_H

#include "tpopt/Sharding/Sharding.h"

#include "mlir/IR/Operation.h"

namespace tp {

/// Checks an op with a sharding rule and emits errors. `shardings` are those of
/// its operands, then of its results; `isLocal` says whether its types are
/// those of one device.
mlir::LogicalResult verifyRule(mlir::Operation *op, const Mesh &mesh,
                               llvm::ArrayRef<TensorSharding> shardings,
                               bool isLocal);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_RULECHECK_H
