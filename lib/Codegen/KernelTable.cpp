// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Codegen/KernelTable.h"

using namespace mlir;
using namespace tp;

/// Of what is cheap to hash: which values ops use is left to the comparison.
static size_t hashRows(step::RowsOp rows) {
  llvm::hash_code hash = llvm::hash_combine_range(rows.getDomain());
  for (Type type : rows.getOperandTypes())
    hash = llvm::hash_combine(hash, type);
  for (Operation &op : rows.getBody().front())
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(
                  &op, OperationEquivalence::ignoreHashValue,
                  OperationEquivalence::ignoreHashValue,
                  OperationEquivalence::Flags::IgnoreLocations));
  return hash;
}

static bool areEqual(step::RowsOp a, step::RowsOp b) {
  return a.getDomain() == b.getDomain() &&
         a.getReads().size() == b.getReads().size() &&
         a.getOperandTypes() == b.getOperandTypes() &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(),
             OperationEquivalence::Flags::IgnoreLocations);
}

unsigned KernelTable::add(step::RowsOp rows) {
  SmallVector<unsigned, 1> &candidates = byHash[hashRows(rows)];
  for (unsigned index : candidates)
    if (areEqual(kernels[index], rows))
      return index;
  candidates.push_back(kernels.size());
  kernels.push_back(rows);
  return candidates.back();
}
