// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradients of ops that address elements by indices. An op that reads a few
// elements adds its gradient to only these elements of the input's gradient. So
// the cost of many small reads of a large tensor is proportional to the number
// of elements that they read.

#include "dialects/TP/ReverseMode.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace tp;

LogicalResult GatherOp::addGradients(ReverseMode &reverse) {
  if (reverse.isWanted(getInput()))
    reverse.set(getInput(), reverse.getEmitter().scatter(
                                ScatterKind::Add, reverse.getOrZero(getInput()),
                                getIndices(), reverse.getGradient(getResult()),
                                getAxis(), getBatchDims()));
  return success();
}

namespace {

/// Builds the gradients of a scatter, according to its kind.
class ScatterGradient {
public:
  ScatterGradient(ScatterOp op, ReverseMode &reverse)
      : op(op), reverse(reverse), emit(reverse.getEmitter()),
        g(reverse.getGradient(op.getResult())), input(op.getInput()),
        updates(op.getUpdates()) {}

  void run() {
    switch (op.getKind()) {
    case ScatterKind::Add:
      reverse.add(input, g);
      reverse.add(updates, gather(g));
      return;
    case ScatterKind::Set:
      return overwrite();
    case ScatterKind::Max:
    case ScatterKind::Min:
      return choose();
    case ScatterKind::Mul:
      return multiply();
    }
    llvm_unreachable("covered switch");
  }

private:
  Value gather(Value from) {
    return emit.gather(from, op.getIndices(), op.getAxis(), op.getBatchDims());
  }
  Value scatter(ScatterKind kind, Value into, Value what) {
    return emit.scatter(kind, into, op.getIndices(), what, op.getAxis(),
                        op.getBatchDims());
  }
  Value indicate(Value a, Value b) {
    return emit.select(emit.compare(ComparePredicate::EQ, a, b),
                       emit.constant(1, a), emit.constant(0, a));
  }

  /// Overwritten elements have no gradient; among updates of one element, only
  /// the last has a gradient.
  void overwrite() {
    if (reverse.isWanted(input))
      reverse.add(input,
                  scatter(ScatterKind::Set, g, emit.constant(0, updates)));
    if (reverse.isWanted(updates))
      reverse.add(updates,
                  emit.select(getLast(), gather(g), emit.constant(0, updates)));
  }

  /// Returns a mask that is true for the last update of each element. To find
  /// the last updates, scatters the number of each update to the element that
  /// it updates, and gathers the numbers again. An update that reads its own
  /// number is the last one.
  Value getLast() {
    Value indices = op.getIndices();
    ArrayRef<int64_t> shape = typeOf(indices).getShape();
    int64_t batchDims = op.getBatchDims(), axis = op.getAxis();
    Type i32 = reverse.getBuilder().getI32Type();
    // Updates are numbered within a batch, in row-major order.
    Value number;
    int64_t stride = 1;
    for (int64_t dim = int64_t(shape.size()) - 1; dim >= batchDims; --dim) {
      Value part = emit.iota(dim, shape, i32);
      if (stride != 1)
        part = emit.binary<MulOp>(part, emit.constant(stride, part));
      number = number ? emit.binary<AddOp>(number, part) : part;
      stride *= shape[dim];
    }
    if (!number)
      number = emit.constant(0, RankedTensorType::get(shape, i32));
    SmallVector<int64_t> places(shape.take_front(batchDims));
    places.push_back(typeOf(input).getDimSize(axis));
    Value none = emit.constant(-1, RankedTensorType::get(places, i32));
    Value written = emit.scatter(ScatterKind::Set, none, indices, number,
                                 batchDims, batchDims);
    Value isLast =
        emit.compare(ComparePredicate::EQ, number,
                     emit.gather(written, indices, batchDims, batchDims));
    // The dimensions that the updates share with the indices. In the updates,
    // batch dimensions come first, then the input dimensions between them and
    // the axis, then the other dimensions of the indices.
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq(batchDims));
    for (int64_t dim : llvm::seq(batchDims, int64_t(shape.size())))
      dims.push_back(axis + dim - batchDims);
    return emit.broadcast(isLast, typeOf(updates).getShape(), dims);
  }

  /// All elements that equal the result share its gradient equally.
  void choose() {
    Value isInput = indicate(input, op.getResult());
    Value isUpdate = indicate(updates, gather(op.getResult()));
    Value count = scatter(ScatterKind::Add, isInput, isUpdate);
    Value share = emit.binary<DivOp>(g, count);
    if (reverse.isWanted(input))
      reverse.add(input, emit.binary<MulOp>(share, isInput));
    if (reverse.isWanted(updates))
      reverse.add(updates, emit.binary<MulOp>(gather(share), isUpdate));
  }

  void multiply() {
    if (reverse.isWanted(input))
      reverse.add(input, scatter(ScatterKind::Mul, g, updates));
    if (reverse.isWanted(updates))
      reverse.add(updates,
                  emit.binary<MulOp>(gather(emit.binary<MulOp>(g, input)),
                                     multiplyOthers()));
  }

  /// For each update, the product of all other updates of its element. Updates
  /// that are 0 are left out of the product and counted instead: if any of the
  /// other updates is 0, the product is 0.
  Value multiplyOthers() {
    Value one = emit.constant(1, updates), zero = emit.constant(0, updates);
    Value isZero = emit.compare(ComparePredicate::EQ, updates, zero);
    Value factors = emit.select(isZero, one, updates);
    Value zeros = emit.select(isZero, one, zero);
    Value product =
        gather(scatter(ScatterKind::Mul, emit.constant(1, input), factors));
    Value otherZeros = emit.binary<SubOp>(
        gather(scatter(ScatterKind::Add, emit.constant(0, input), zeros)),
        zeros);
    Value others = emit.binary<DivOp>(product, factors);
    return emit.select(emit.compare(ComparePredicate::EQ, otherZeros, zero),
                       others, zero);
  }

  ScatterOp op;
  ReverseMode &reverse;
  Emitter emit;
  Value g, input, updates;
};

} // namespace

LogicalResult ScatterOp::addGradients(ReverseMode &reverse) {
  ScatterGradient(*this, reverse).run();
  return success();
}

LogicalResult DynamicSliceOp::addGradients(ReverseMode &reverse) {
  if (!reverse.isWanted(getInput()))
    return success();
  Emitter emit = reverse.getEmitter();
  Value part = reverse.getGradient(getResult());
  if (Value known = reverse.getGradient(getInput()))
    part = emit.binary<AddOp>(
        emit.dynamicSlice(known, getStarts(), typeOf(part).getShape()), part);
  reverse.set(getInput(), emit.dynamicUpdate(reverse.getOrZero(getInput()),
                                             part, getStarts()));
  return success();
}

LogicalResult DynamicUpdateSliceOp::addGradients(ReverseMode &reverse) {
  Emitter emit = reverse.getEmitter();
  Value g = reverse.getGradient(getResult());
  if (reverse.isWanted(getUpdate()))
    reverse.add(getUpdate(), emit.dynamicSlice(g, getStarts(),
                                               typeOf(getUpdate()).getShape()));
  if (reverse.isWanted(getInput()))
    reverse.add(getInput(), emit.dynamicUpdate(g, emit.constant(0, getUpdate()),
                                               getStarts()));
  return success();
}

/// Adds `g` to the gradient of `input`, at the positions along `dim` that
/// `indices` gives.
static void addAlong(ReverseMode &reverse, Value input, Value indices, Value g,
                     int64_t dim) {
  Emitter emit = reverse.getEmitter();
  int64_t last = typeOf(input).getRank() - 1;
  auto swap = llvm::to_vector(llvm::seq(last + 1));
  std::swap(swap[dim], swap[last]);
  auto turn = [&](Value value) {
    return dim == last ? value : emit.transpose(value, swap);
  };
  SmallVector<int64_t> shape(typeOf(input).getShape());
  std::swap(shape[dim], shape[last]);
  Value zero = emit.constant(0, Emitter::withShape(input, shape));
  reverse.add(input, turn(emit.scatter(ScatterKind::Add, zero, turn(indices),
                                       turn(g), last, last)));
}

LogicalResult SortOp::addGradients(ReverseMode &reverse) {
  addAlong(reverse, getInput(), getIndices(), reverse.getGradient(getValues()),
           getDim());
  return success();
}

LogicalResult TopKOp::addGradients(ReverseMode &reverse) {
  addAlong(reverse, getInput(), getIndices(), reverse.getGradient(getValues()),
           typeOf(getInput()).getRank() - 1);
  return success();
}
