// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Traits for hash tables of ops, in which equal ops are the same key.

#ifndef TPOPT_DIALECTS_TP_EQUALOPS_H
#define TPOPT_DIALECTS_TP_EQUALOPS_H

#include "mlir/IR/OperationSupport.h"

namespace tp {

/// Ops are equal if they have the same name, attributes, operands and result
/// types. Locations do not matter.
struct EqualOps : llvm::DenseMapInfo<mlir::Operation *> {
  static unsigned getHashValue(const mlir::Operation *op) {
    return mlir::OperationEquivalence::computeHash(
        const_cast<mlir::Operation *>(op),
        mlir::OperationEquivalence::directHashValue,
        mlir::OperationEquivalence::ignoreHashValue,
        mlir::OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const mlir::Operation *a, const mlir::Operation *b) {
    if (a == b || isMarker(a) || isMarker(b))
      return a == b;
    return mlir::OperationEquivalence::isEquivalentTo(
        const_cast<mlir::Operation *>(a), const_cast<mlir::Operation *>(b),
        mlir::OperationEquivalence::IgnoreLocations);
  }

protected:
  /// Returns true if `op` is the key that marks an empty or erased slot of a
  /// hash table.
  static bool isMarker(const mlir::Operation *op) {
    return op == getEmptyKey() || op == getTombstoneKey();
  }
};

} // namespace tp

#endif // TPOPT_DIALECTS_TP_EQUALOPS_H
