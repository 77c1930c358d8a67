// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Concatenation and padding: copies into parts of a new tensor.

#include "JoinProducts.h"
#include "Lowering.h"

using namespace mlir;
using namespace tp;

static SmallVector<int64_t> ones(size_t rank) {
  return SmallVector<int64_t>(rank, 1);
}

/// The memory of a concatenation, of which parts may be written before it.
View ProgramLowering::getConcatenation(ConcatOp op) {
  View &view = views[op.getResult()];
  if (!view.root)
    view = allocateFor(op.getResult());
  return view;
}

View ProgramLowering::getPart(ConcatOp op, unsigned index) {
  View whole = getConcatenation(op);
  SmallVector<int64_t> starts(whole.shape.size(), 0);
  for (Value before : op.getInputs().take_front(index))
    starts[op.getDim()] +=
        cast<RankedTensorType>(before.getType()).getDimSize(op.getDim());
  Value part = op.getInputs()[index];
  return whole.slice(starts, cast<RankedTensorType>(part.getType()).getShape(),
                     ones(starts.size()));
}

View ProgramLowering::allocatePart(Value value) {
  if (value.hasOneUse() && !outputStorage.count(value))
    if (auto concat = dyn_cast<ConcatOp>(*value.getUsers().begin());
        concat && concat->getBlock() == value.getParentBlock())
      return getPart(concat, value.getUses().begin()->getOperandNumber());
  return allocateFor(value);
}

void ProgramLowering::lowerConcat(ConcatOp op) {
  if (std::optional<int64_t> rows = getBundleRows(op)) {
    SmallVector<Value> members;
    for (Value input : op.getInputs())
      members.push_back(getView(input).root);
    auto type = cast<RankedTensorType>(op.getType());
    views[op.getResult()] = View(step::BundleOp::create(
        builder, loc, MemRefType::get(type.getShape(), type.getElementType()),
        members, *rows));
    return;
  }
  View result = getConcatenation(op);
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    View from = getView(input), to = getPart(op, index);
    bool isThere = from.root == to.root && from.offset == to.offset &&
                   from.strides == to.strides;
    if (!isThere)
      copy(from, to, op);
  }
  views[op.getResult()] = result;
}

/// Fill around the input, dimension by dimension, and the input.
void ProgramLowering::lowerPad(PadOp op) {
  View result = allocateFor(op.getResult());
  View input = getView(op.getInput()), fill = getView(op.getValue());
  size_t rank = result.shape.size();
  SmallVector<int64_t> starts(rank, 0), sizes(result.shape);
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t low = op.getLow()[dim], size = input.shape[dim],
            length = result.shape[dim];
    for (auto [start, count] : {std::pair(int64_t(0), low),
                                std::pair(low + size, length - low - size)}) {
      if (count == 0)
        continue;
      starts[dim] = start;
      sizes[dim] = count;
      copy(fill.broadcast(sizes, {}), result.slice(starts, sizes, ones(rank)),
           op);
    }
    starts[dim] = low;
    sizes[dim] = size;
  }
  copy(input, result.slice(starts, sizes, ones(rank)), op);
  views[op.getResult()] = result;
}
