// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Finds ops that are equal except for their operands, such as those of
/// repeated layers, so that a pass processes them only once.
///
///     llvm::DenseMap<Operation *, Rule, StructureInfo> rules;
///     auto [it, isNew] = rules.try_emplace(op);
///
/// Such a table must not outlive the ops that are its keys.

#ifndef TPOPT_DIALECTS_SPMD_STRUCTURE_H
#define TPOPT_DIALECTS_SPMD_STRUCTURE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMapInfo.h"

namespace tp {

/// Compares name, inherent attributes, and types of operands and results.
struct StructureInfo : llvm::DenseMapInfo<mlir::Operation *> {
  static unsigned getHashValue(const mlir::Operation *op);
  static bool isEqual(const mlir::Operation *a, const mlir::Operation *b);
};

} // namespace tp

#endif // TPOPT_DIALECTS_SPMD_STRUCTURE_H
