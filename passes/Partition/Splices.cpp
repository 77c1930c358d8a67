// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Splices.h"

#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;

namespace {

/// What a splice is made of.
struct Pieces {
  SmallVector<Value> inputs;
  SmallVector<int64_t> starts, sizes;

  void add(Value input, int64_t start, int64_t size) {
    if (size == 0)
      return;
    inputs.push_back(input);
    starts.push_back(start);
    sizes.push_back(size);
  }
};

} // namespace

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// The one dimension in which two shapes differ; none if they have zeros.
static std::optional<int64_t> getOnlyDifference(ArrayRef<int64_t> a,
                                                ArrayRef<int64_t> b) {
  std::optional<int64_t> found;
  for (int64_t dim = 0, e = a.size(); dim < e; ++dim) {
    if (a[dim] == 0 || b[dim] == 0 || (a[dim] != b[dim] && found))
      return std::nullopt;
    if (a[dim] != b[dim])
      found = dim;
  }
  return found;
}

/// Adds all of `value`; of a slice that nobody else uses what it is a slice of.
static void addInput(Pieces &pieces, Value value, int64_t dim) {
  auto slice = value.getDefiningOp<SpliceOp>();
  if (slice && int64_t(slice.getDim()) == dim && slice->hasOneUse() &&
      slice.getInputs().size() == 1)
    pieces.add(slice.getInputs()[0], slice.getStarts()[0], slice.getSizes()[0]);
  else
    pieces.add(value, 0, shapeOf(value)[dim]);
}

/// `op` as pieces along the dimension returned, if it is that.
static std::optional<int64_t> getPieces(Operation *op, Pieces &pieces) {
  ArrayRef<int64_t> result = shapeOf(op->getResult(0));
  if (auto concat = dyn_cast<ConcatOp>(op)) {
    // One input is no choice of pieces: nothing would be left of the op.
    if (llvm::is_contained(result, 0) || concat.getInputs().size() == 1)
      return std::nullopt;
    for (Value input : concat.getInputs()) {
      if (shapeOf(input)[concat.getDim()] == 0)
        return std::nullopt;
      addInput(pieces, input, concat.getDim());
    }
    return concat.getDim();
  }
  std::optional<int64_t> dim =
      getOnlyDifference(shapeOf(op->getOperand(0)), result);
  if (!dim)
    return std::nullopt;
  if (auto slice = dyn_cast<SliceOp>(op)) {
    // Elsewhere a stride changes nothing, but a splice would not say it again.
    if (llvm::any_of(slice.getStrides(), [](int64_t s) { return s != 1; }))
      return std::nullopt;
    pieces.add(slice.getInput(), slice.getStarts()[*dim], result[*dim]);
    return dim;
  }
  auto pad = dyn_cast<PadOp>(op);
  if (!pad)
    return std::nullopt;
  int64_t low = pad.getLow()[*dim];
  pieces.add(pad.getValue(), 0, low);
  addInput(pieces, pad.getInput(), *dim);
  pieces.add(pad.getValue(), 0,
             result[*dim] - low - shapeOf(pad.getInput())[*dim]);
  return dim;
}

void tp::makeSplices(ArrayRef<Operation *> ops, ShardingTable &table) {
  SmallVector<SpliceOp> splices;
  for (Operation *op : ops) {
    Pieces pieces;
    std::optional<int64_t> dim = getPieces(op, pieces);
    if (!dim)
      continue;
    OpBuilder builder(op);
    Value result = op->getResult(0);
    auto splice =
        SpliceOp::create(builder, op->getLoc(), result.getType(), pieces.inputs,
                         *dim, pieces.starts, pieces.sizes);
    if (const TensorSharding *sharding = table.lookup(result))
      table.set(splice, *sharding);
    result.replaceAllUsesWith(splice);
    op->erase();
    splices.push_back(splice);
  }
  // Slices that have become pieces.
  for (SpliceOp splice : llvm::reverse(splices))
    if (splice->use_empty())
      splice.erase();
}

void tp::takeSplicesApart(ArrayRef<Operation *> ops, ShardingTable &table) {
  for (Operation *op : ops) {
    auto splice = dyn_cast<SpliceOp>(op);
    const TensorSharding *layout = splice ? table.lookup(splice) : nullptr;
    // A pad lets no partial value through.
    if (!layout || !layout->dims[splice.getDim()].axes.empty() ||
        !layout->unreduced.empty())
      continue;
    OpBuilder builder(splice);
    Operation *before = splice->getPrevNode();
    Value value = splice.decompose(builder).front();
    for (Operation *part = before ? before->getNextNode()
                                  : &splice->getBlock()->front();
         part != splice; part = part->getNextNode())
      table.set(part->getResult(0), *layout);
    splice.replaceAllUsesWith(value);
    splice.erase();
  }
}
