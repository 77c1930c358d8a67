// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Splices.h"

#include "lib/Cost/Memory.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::cost;
using namespace tp::plan;
using namespace tp::spmd;

namespace {

/// What a splice is made of.
struct Pieces {
  int64_t dim = 0;
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

namespace {

class SpliceMaker {
public:
  SpliceMaker(ProgramView &view, ShardingTable &table)
      : view(view), table(table) {}

  SmallVector<ProgramView::Rewrite *> run(ArrayRef<Operation *> ops) {
    for (Operation *op : ops)
      if (std::optional<Splice> splice = getSplice(op))
        splices.insert({op, std::move(*splice)});
    SmallVector<ProgramView::Rewrite *> rewrites;
    for (auto &[op, splice] : splices)
      if (!absorbed.contains(op))
        rewrites.push_back(&add(op, splice));
    return rewrites;
  }

private:
  struct Splice {
    Pieces pieces;
    SmallVector<Operation *, 1> slices; ///< Of which it takes the operands.
  };

  ProgramView::Rewrite &add(Operation *op, const Splice &splice) {
    return view.add(op, splice.slices, [&](OpBuilder &builder) {
      const Pieces &pieces = splice.pieces;
      Value result = op->getResult(0);
      auto made = SpliceOp::create(builder, op->getLoc(), result.getType(),
                                   pieces.inputs, pieces.dim, pieces.starts,
                                   pieces.sizes);
      if (const TensorSharding *sharding = table.lookup(result))
        table.set(made, *sharding);
      return SmallVector<Value>{made};
    });
  }

  /// Adds all of `value`; of a slice that nobody else uses, what it slices.
  void addInput(Splice &splice, Value value) {
    int64_t dim = splice.pieces.dim;
    Operation *def = value.getDefiningOp();
    auto it = splices.find(def);
    if (!isa_and_nonnull<SliceOp>(def) || it == splices.end() ||
        it->second.pieces.dim != dim || !value.hasOneUse()) {
      splice.pieces.add(value, 0, shapeOf(value)[dim]);
      return;
    }
    const Pieces &slice = it->second.pieces;
    splice.pieces.add(slice.inputs[0], slice.starts[0], slice.sizes[0]);
    splice.slices.push_back(def);
    absorbed.insert(def);
  }

  /// `op` as a splice, if it is one.
  std::optional<Splice> getSplice(Operation *op) {
    ArrayRef<int64_t> result = shapeOf(op->getResult(0));
    Splice splice;
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      // One input is no choice of pieces: nothing would be left of the op.
      int64_t dim = splice.pieces.dim = concat.getDim();
      if (llvm::is_contained(result, 0) || concat.getInputs().size() == 1 ||
          llvm::any_of(concat.getInputs(),
                       [&](Value input) { return shapeOf(input)[dim] == 0; }))
        return std::nullopt;
      for (Value input : concat.getInputs())
        addInput(splice, input);
      return splice;
    }
    std::optional<int64_t> dim =
        getOnlyDifference(shapeOf(op->getOperand(0)), result);
    if (!dim)
      return std::nullopt;
    splice.pieces.dim = *dim;
    if (auto slice = dyn_cast<SliceOp>(op)) {
      // Elsewhere a stride changes nothing, but a splice would not say it
      // again.
      if (llvm::any_of(slice.getStrides(), [](int64_t s) { return s != 1; }))
        return std::nullopt;
      splice.pieces.add(slice.getInput(), slice.getStarts()[*dim],
                        result[*dim]);
      return splice;
    }
    auto pad = dyn_cast<PadOp>(op);
    if (!pad)
      return std::nullopt;
    int64_t low = pad.getLow()[*dim];
    splice.pieces.add(pad.getValue(), 0, low);
    addInput(splice, pad.getInput());
    splice.pieces.add(pad.getValue(), 0,
                      result[*dim] - low - shapeOf(pad.getInput())[*dim]);
    return splice;
  }

  ProgramView &view;
  ShardingTable &table;
  llvm::MapVector<Operation *, Splice> splices;
  llvm::DenseSet<Operation *> absorbed;
};

} // namespace

SmallVector<ProgramView::Rewrite *>
tp::plan::addSplices(ProgramView &view, ArrayRef<Operation *> ops,
                     ShardingTable &table) {
  return SpliceMaker(view, table).run(ops);
}

bool tp::plan::isTakenApart(SpliceOp splice, const TensorSharding &layout) {
  // A pad lets no partial value through.
  return layout.dims[splice.getDim()].axes.empty() && layout.unreduced.empty();
}

PartsCost tp::plan::getPartsCost(SpliceOp splice, const TensorSharding &layout,
                                 const CostModel &cost) {
  Block parts;
  OpBuilder builder(splice.getContext());
  builder.setInsertionPointToEnd(&parts);
  splice.decompose(builder);
  PartsCost sum;
  for (Operation &part : parts) {
    // Every tensor has the layout of the splice; a scalar is whole.
    SmallVector<const TensorSharding *> layouts;
    for (Type type : part.getOperandTypes())
      layouts.push_back(
          cast<RankedTensorType>(type).getRank() == layout.getRank() ? &layout
                                                                     : nullptr);
    layouts.push_back(&layout);
    auto ruled = cast<ShardingRuleOpInterface>(part);
    // Nothing is sharded that a part needs whole, so it can be computed.
    sum.price += *cost.getPrice(&part, ruled.getShardingRule(), layouts);
    auto made = cast<RankedTensorType>(part.getResult(0).getType());
    if (&part != &parts.back())
      sum.heldBytes +=
          getBufferElements(layout, made.getShape()) * getElementBytes(made);
  }
  return sum;
}

void tp::plan::takeSplicesApart(ArrayRef<Operation *> ops,
                                ShardingTable &table) {
  for (Operation *op : ops) {
    auto splice = dyn_cast<SpliceOp>(op);
    const TensorSharding *layout = splice ? table.lookup(splice) : nullptr;
    if (!layout || !isTakenApart(splice, *layout))
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
