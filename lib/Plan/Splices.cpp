// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Splices.h"

#include "dialects/TP/SplicePieces.h"
#include "lib/Cost/Memory.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::cost;
using namespace tp::plan;
using namespace tp::spmd;

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
    SplicePieces pieces;
    SmallVector<Operation *, 1> slices; ///< Of which it takes the operands.
  };

  ProgramView::Rewrite &add(Operation *op, const Splice &splice) {
    return view.add(op, splice.slices, [&](OpBuilder &builder) {
      Value result = op->getResult(0);
      Value made = splice.pieces.build(builder, op->getLoc(), result.getType());
      if (const TensorSharding *sharding = table.lookup(result))
        table.set(made, *sharding);
      return SmallVector<Value>{made};
    });
  }

  /// `op` as a splice, if it is one. Of a slice that nobody else uses, it takes
  /// what that slices.
  std::optional<Splice> getSplice(Operation *op) {
    std::optional<SplicePieces> pieces =
        isa<SpliceOp>(op) ? std::nullopt : getSplicePieces(op);
    if (!pieces)
      return std::nullopt;
    Splice splice{{pieces->dim, {}}, {}};
    for (const SplicePiece &piece : pieces->pieces) {
      Operation *def = piece.input.getDefiningOp();
      auto it = splices.find(def);
      if (isa<SliceOp>(op) || !isa_and_nonnull<SliceOp>(def) ||
          it == splices.end() || it->second.pieces.dim != pieces->dim ||
          !piece.input.hasOneUse()) {
        splice.pieces.add(piece);
        continue;
      }
      splice.pieces.add(it->second.pieces.pieces.front());
      splice.slices.push_back(def);
    }
    // Parts put together again: nothing would be left of the op.
    if (splice.pieces.isIdentity())
      return std::nullopt;
    absorbed.insert(splice.slices.begin(), splice.slices.end());
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
  // Tensors have the layout of the splice. Scalars are whole, and so are the
  // indices of what is read backwards.
  TensorSharding whole = TensorSharding::replicate(1);
  auto getLayout = [&](Type type) -> const TensorSharding * {
    int64_t rank = cast<RankedTensorType>(type).getRank();
    return rank == layout.getRank() ? &layout : rank == 1 ? &whole : nullptr;
  };
  for (Operation &part : parts) {
    SmallVector<const TensorSharding *> layouts;
    for (Type type : part.getOperandTypes())
      layouts.push_back(getLayout(type));
    layouts.push_back(getLayout(part.getResult(0).getType()));
    auto ruled = cast<ShardingRuleOpInterface>(part);
    // Nothing is sharded that a part needs whole, so it can be computed.
    sum.price += *cost.getPrice(&part, ruled.getShardingRule(), layouts);
    auto made = cast<RankedTensorType>(part.getResult(0).getType());
    if (&part != &parts.back())
      sum.heldBytes += made.getRank() == layout.getRank()
                           ? getBufferElements(layout, made.getShape()) *
                                 getElementBytes(made)
                           : made.getNumElements() * getElementBytes(made);
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
      // The indices of what is read backwards have a dimension of their own.
      table.set(
          part->getResult(0),
          splice.getType().getRank() ==
                  cast<RankedTensorType>(part->getResult(0).getType()).getRank()
              ? *layout
              : TensorSharding::replicate(1));
    splice.replaceAllUsesWith(value);
    splice.erase();
  }
}
