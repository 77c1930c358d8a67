// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/SPMD/Structure.h"

using namespace mlir;
using namespace tp;

unsigned StructureInfo::getHashValue(const Operation *constOp) {
  auto *op = const_cast<Operation *>(constOp);
  llvm::hash_code hash =
      llvm::hash_combine(op->getName(), op->hashProperties());
  for (Type type : op->getOperandTypes())
    hash = llvm::hash_combine(hash, type);
  for (Type type : op->getResultTypes())
    hash = llvm::hash_combine(hash, type);
  return hash;
}

bool StructureInfo::isEqual(const Operation *constA, const Operation *constB) {
  auto *a = const_cast<Operation *>(constA),
       *b = const_cast<Operation *>(constB);
  if (a == b)
    return true;
  auto isKey = [](Operation *op) {
    return op != getEmptyKey() && op != getTombstoneKey();
  };
  return isKey(a) && isKey(b) && a->getName() == b->getName() &&
         a->getName().compareOpProperties(a->getPropertiesStorage(),
                                          b->getPropertiesStorage()) &&
         a->getOperandTypes() == b->getOperandTypes() &&
         a->getResultTypes() == b->getResultTypes();
}
