// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lowers concatenation and padding, which copy into parts of a new tensor. Also
// lowers the ops that read or write blocks at the device's position.

#include "Lowering.h"

using namespace mlir;
using namespace tp;

static SmallVector<int64_t> ones(size_t rank) {
  return SmallVector<int64_t>(rank, 1);
}

View ProgramLowering::getAssembled(Value result) {
  auto known = views.find(result);
  if (known != views.end())
    return known->second;
  View view = allocatePart(result); // it may be part of another tensor
  return views[result] = view;
}

View ProgramLowering::getPart(ConcatOp op, unsigned index) {
  View whole = getAssembled(op.getResult());
  SmallVector<int64_t> starts(whole.shape.size(), 0);
  for (Value before : op.getInputs().take_front(index))
    starts[op.getDim()] +=
        cast<RankedTensorType>(before.getType()).getDimSize(op.getDim());
  Value part = op.getInputs()[index];
  return whole.slice(starts, cast<RankedTensorType>(part.getType()).getShape(),
                     ones(starts.size()));
}

View ProgramLowering::allocatePart(Value value) {
  if (!value.hasOneUse() || outputStorage.count(value))
    return allocateFor(value);
  OpOperand &use = *value.getUses().begin();
  if (use.getOwner()->getBlock() != value.getParentBlock())
    return allocateFor(value);
  if (auto concat = dyn_cast<ConcatOp>(use.getOwner()))
    return getPart(concat, use.getOperandNumber());
  if (auto assemble = dyn_cast<spmd::AssembleOp>(use.getOwner()))
    return getPart(assemble, use.getOperandNumber());
  return allocateFor(value);
}

void ProgramLowering::lowerConcat(ConcatOp op) {
  if (auto bundle = bundles.find(op); bundle != bundles.end()) {
    SmallVector<Value> members;
    for (Value input : op.getInputs())
      members.push_back(getView(input).root);
    auto type = cast<RankedTensorType>(op.getType());
    views[op.getResult()] = View(step::BundleOp::create(
        builder, loc, MemRefType::get(type.getShape(), type.getElementType()),
        members, bundle->second));
    return;
  }
  lowerParts(op);
}

void ProgramLowering::lowerAssemble(spmd::AssembleOp op) { lowerParts(op); }

/// Copies the parts that were not computed in place.
template <typename OpT> void ProgramLowering::lowerParts(OpT op) {
  View result = getAssembled(op.getResult());
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    View from = getView(input), to = getPart(op, index);
    if (!from.isSame(to))
      copy(from, to, op);
  }
  views[op.getResult()] = result;
}

/// The block of `whole` that is `plus` blocks after the one at the device's
/// position.
static View atPlace(View whole, int64_t dim, int64_t places,
                    spmd::AxisListAttr axes, int64_t plus) {
  whole.shape[dim] /= places;
  if (places == 1)
    return whole;
  whole.by = whole.shape[dim] * whole.strides[dim];
  whole.axes = axes;
  whole.plus = plus;
  return whole;
}

View ProgramLowering::getPart(spmd::AssembleOp op, unsigned index) {
  return atPlace(getAssembled(op.getResult()), op.getDim(),
                 op.getInputs().size(), op.getAxes(), index);
}

View ProgramLowering::lowerBlock(spmd::BlockOp op) {
  View input = getView(op.getInput());
  int64_t dim = op.getDim();
  int64_t block = typeOf(op.getResult()).getDimSize(dim);
  // Copy the input if its offset already depends on a loop or on the device:
  // the offset of a view can depend on only one of these. Copy it also if
  // blocks are not aligned.
  int64_t step = block * input.strides[dim];
  if (input.by != 0 ||
      step * step::getElementBytes(input.element) % step::kArenaAlignment != 0)
    input = copyDense(input, op);
  return atPlace(input, dim, input.shape[dim] / block, op.getAxes(),
                 op.getPlus());
}

/// Stores the padding around the input, dimension by dimension, and then the
/// input.
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
