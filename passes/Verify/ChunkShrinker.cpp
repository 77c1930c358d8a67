// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ChunkShrinker.h"

#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;

SmallVector<int64_t>
tp::inferChunkShape(Operation *op, ArrayRef<SmallVector<int64_t>> operands) {
  if (auto einsum = dyn_cast<EinsumOp>(op))
    return EinsumTerms::split(einsum.getEquation())
        .inferShape(operands[0], operands[1]);
  SmallVector<int64_t> shape(typeOf(op->getResult(0)).getShape());
  ArrayRef<int64_t> old = typeOf(op->getOperand(0)).getShape();
  for (size_t i = 1; i <= std::min(old.size(), shape.size()); ++i) {
    int64_t &size = shape[shape.size() - i];
    if (size == old[old.size() - i])
      size = operands[0][old.size() - i];
  }
  return shape;
}
