// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ChunkShrinker.h"

#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;

SmallVector<int64_t>
tp::inferChunkShape(Operation *op, ArrayRef<SmallVector<int64_t>> operands) {
  SmallVector<int64_t> shape;
  if (auto einsum = dyn_cast<EinsumOp>(op)) {
    EinsumTerms terms = EinsumTerms::split(einsum.getEquation());
    for (char letter : terms.result) {
      size_t left = terms.lhs.find(letter);
      shape.push_back(left != StringRef::npos
                          ? operands[0][left]
                          : operands[1][terms.rhs.find(letter)]);
    }
    return shape;
  }
  shape = SmallVector<int64_t>(typeOf(op->getResult(0)).getShape());
  ArrayRef<int64_t> old = typeOf(op->getOperand(0)).getShape();
  for (size_t i = 1; i <= std::min(old.size(), shape.size()); ++i) {
    int64_t &size = shape[shape.size() - i];
    if (size == old[old.size() - i])
      size = operands[0][old.size() - i];
  }
  return shape;
}
