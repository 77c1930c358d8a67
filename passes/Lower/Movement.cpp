// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Concatenation and padding: copies into parts of a new tensor.

#include "Lowering.h"

using namespace mlir;
using namespace tp;

static SmallVector<int64_t> ones(size_t rank) {
  return SmallVector<int64_t>(rank, 1);
}

void ProgramLowering::lowerConcat(ConcatOp op) {
  View result = allocateFor(op.getResult());
  SmallVector<int64_t> starts(result.shape.size(), 0);
  for (Value input : op.getInputs()) {
    View part = getView(input);
    copy(part, result.slice(starts, part.shape, ones(starts.size())), op);
    starts[op.getDim()] += part.shape[op.getDim()];
  }
  views[op.getResult()] = result;
}

void ProgramLowering::lowerPad(PadOp op) {
  View result = allocateFor(op.getResult());
  copy(getView(op.getValue()).broadcast(result.shape, {}), result, op);
  View input = getView(op.getInput());
  copy(input, result.slice(op.getLow(), input.shape, ones(input.shape.size())),
       op);
  views[op.getResult()] = result;
}
