// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradients of ops that move data: each op is linear, and its gradient is
// the transpose, which moves elements back and adds up copies.

#include "dialects/TP/ReverseMode.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace tp;

LogicalResult BroadcastOp::addGradients(ReverseMode &reverse) {
  Value g = reverse.getGradient(getResult());
  SmallVector<int64_t> added;
  for (int64_t dim : llvm::seq(typeOf(g).getRank()))
    if (!llvm::is_contained(getDims(), dim))
      added.push_back(dim);
  reverse.add(getInput(), added.empty() ? g
                                        : reverse.getEmitter().reduce(
                                              ReductionKind::Sum, g, added));
  return success();
}

LogicalResult TransposeOp::addGradients(ReverseMode &reverse) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    inverse[from] = to;
  reverse.add(getInput(), reverse.getEmitter().transpose(
                              reverse.getGradient(getResult()), inverse));
  return success();
}

LogicalResult ReshapeOp::addGradients(ReverseMode &reverse) {
  reverse.add(getInput(),
              reverse.getEmitter().reshape(reverse.getGradient(getResult()),
                                           getInput().getType().getShape()));
  return success();
}

/// Returns a tensor of `shape` with the elements of a slice at their original
/// positions and zeros elsewhere. Element i of dimension d is at position
/// `starts[d] + i * strides[d]`.
static Value unslice(Emitter emit, OpBuilder &builder, Location loc, Value g,
                     ArrayRef<int64_t> starts, ArrayRef<int64_t> strides,
                     ArrayRef<int64_t> shape) {
  Value zero = emit.constant(0, Emitter::withShape(g, {}));
  // First insert zeros in the dimensions with a stride, one by one. Then pad
  // all other dimensions at once.
  SmallVector<int64_t> sizes(typeOf(g).getShape()), low(starts);
  for (auto [dim, stride] : llvm::enumerate(strides)) {
    if (stride == 1 || sizes[dim] == 1)
      continue;
    sizes[dim] = shape[dim];
    low[dim] = 0;
    g = DilateOp::create(builder, loc, Emitter::withShape(g, sizes), g, zero,
                         dim, starts[dim], stride);
  }
  if (typeOf(g).getShape() == shape)
    return g;
  return PadOp::create(builder, loc, Emitter::withShape(g, shape), g, zero,
                       low);
}

LogicalResult SliceOp::addGradients(ReverseMode &reverse) {
  reverse.add(getInput(),
              unslice(reverse.getEmitter(), reverse.getBuilder(),
                      reverse.getLoc(), reverse.getGradient(getResult()),
                      getStarts(), getStrides(),
                      getInput().getType().getShape()));
  return success();
}

LogicalResult ConcatOp::addGradients(ReverseMode &reverse) {
  Emitter emit = reverse.getEmitter();
  Value g = reverse.getGradient(getResult());
  SmallVector<int64_t> starts(typeOf(g).getRank(), 0);
  for (Value input : getInputs()) {
    ArrayRef<int64_t> shape = typeOf(input).getShape();
    if (reverse.isWanted(input))
      reverse.add(input, emit.slice(g, starts, shape));
    starts[getDim()] += shape[getDim()];
  }
  return success();
}

/// The sum of all elements, a scalar.
static Value sumAll(Emitter emit, Value tensor) {
  auto dims = llvm::to_vector(llvm::seq(typeOf(tensor).getRank()));
  return dims.empty() ? tensor : emit.reduce(ReductionKind::Sum, tensor, dims);
}

LogicalResult PadOp::addGradients(ReverseMode &reverse) {
  Emitter emit = reverse.getEmitter();
  Value g = reverse.getGradient(getResult());
  Value inner = emit.slice(g, getLow(), getInput().getType().getShape());
  reverse.add(getInput(), inner);
  if (reverse.isWanted(getValue())) {
    reverse.add(getValue(),
                emit.binary<SubOp>(sumAll(emit, g), sumAll(emit, inner)));
  }
  return success();
}

/// Adds the elements of windows to their original positions. Handles one
/// position in the window at a time: the elements of all windows at this
/// position form a strided slice of the input.
static Value fold(WindowOp op, ReverseMode &reverse) {
  Emitter emit = reverse.getEmitter();
  Value g = reverse.getGradient(op.getResult());
  SmallVector<int64_t> shape(op.getInput().getType().getShape());
  // `padded` is the shape of the input, extended to all that windows read.
  SmallVector<int64_t> starts, inside(shape.size(), 0), padded(shape);
  for (auto [i, dim] : llvm::enumerate(op.getDims())) {
    auto [first, end] = op.getReach(i);
    inside[dim] = std::max<int64_t>(0, -first);
    padded[dim] = inside[dim] + std::max(shape[dim], end);
    starts.push_back(first + inside[dim]);
  }
  // For each of `dims`, the number of elements in a window, and the current
  // element.
  SmallVector<int64_t> extents, place(op.getDims().size(), 0);
  for (unsigned i : llvm::seq<unsigned>(op.getDims().size()))
    extents.push_back(typeOf(g).getDimSize(op.getWindowDim(i) + 1));
  Value sum;
  do {
    SmallVector<int64_t> from(typeOf(g).getRank(), 0);
    SmallVector<int64_t> sizes(typeOf(g).getShape());
    SmallVector<int64_t> to(shape.size(), 0), strides(shape.size(), 1);
    SmallVector<int64_t> rows(shape);
    for (auto [i, dim] : llvm::enumerate(op.getDims())) {
      from[op.getWindowDim(i) + 1] = place[i];
      sizes[op.getWindowDim(i) + 1] = 1;
      to[dim] = starts[i] + place[i] * op.getDilations()[i];
      strides[dim] = op.getStrides()[i];
      rows[dim] = sizes[op.getWindowDim(i)];
    }
    Value seen = emit.reshape(emit.slice(g, from, sizes), rows);
    Value moved = unslice(emit, reverse.getBuilder(), reverse.getLoc(), seen,
                          to, strides, padded);
    sum = sum ? emit.binary<AddOp>(sum, moved) : moved;
    // Advance to the next position, last dimension first.
    int64_t i = int64_t(place.size()) - 1;
    while (i >= 0 && ++place[i] == extents[i])
      place[i--] = 0;
    if (i < 0)
      break;
  } while (true);
  return padded == shape ? sum : emit.slice(sum, inside, shape);
}

LogicalResult WindowOp::addGradients(ReverseMode &reverse) {
  Value inner;
  if (reverse.isWanted(getInput()))
    reverse.add(getInput(), inner = fold(*this, reverse));
  if (getFill() && reverse.isWanted(getFill())) {
    // The fill gets the part of the gradient that the input does not get.
    Emitter emit = reverse.getEmitter();
    Value g = reverse.getGradient(getResult());
    reverse.add(
        getFill(),
        emit.binary<SubOp>(sumAll(emit, g),
                           sumAll(emit, inner ? inner : fold(*this, reverse))));
  }
  return success();
}
