// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Splices.h"

#include "Strategies.h"

#include "dialects/TP/Emitter.h"
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
    for (Operation *op : ops)
      if (SmallVector<int64_t, 2> dims = getCutDims(op);
          !dims.empty() && !splices.contains(op))
        rewrites.push_back(&addChain(op, dims));
    return rewrites;
  }

private:
  struct Splice {
    SplicePieces pieces;
    SmallVector<Operation *, 1> slices; ///< The slices that it absorbs.
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

  /// The sharded dimensions that a slice or pad changes; empty for other ops.
  SmallVector<int64_t, 2> getCutDims(Operation *op) const {
    SmallVector<int64_t, 2> dims;
    if (!isa<SliceOp, PadOp>(op))
      return dims;
    auto from = cast<RankedTensorType>(op->getOperand(0).getType());
    auto to = cast<RankedTensorType>(op->getResult(0).getType());
    if (from.getNumElements() == 0 || to.getNumElements() == 0)
      return dims;
    for (Value value : {op->getOperand(0), Value(op->getResult(0))}) {
      const TensorSharding *sharding = table.lookup(value);
      for (int64_t dim = 0; sharding && dim < from.getRank(); ++dim)
        if (from.getDimSize(dim) != to.getDimSize(dim) &&
            !sharding->dims[dim].axes.empty() && !llvm::is_contained(dims, dim))
          dims.push_back(dim);
    }
    return dims;
  }

  /// Adds a splice for each of `dims`. The other dimensions are sliced before
  /// the splices, or padded after them, so that less is exchanged.
  ProgramView::Rewrite &addChain(Operation *op, ArrayRef<int64_t> dims) {
    auto wanted = cast<RankedTensorType>(op->getResult(0).getType());
    return view.add(op, {}, [&](OpBuilder &builder) {
      Emitter emit(builder, op->getLoc());
      auto slice = dyn_cast<SliceOp>(op);
      auto pad = dyn_cast<PadOp>(op);
      Value value = op->getOperand(0);
      SmallVector<int64_t> shape(wanted.getShape());
      if (slice) {
        SmallVector<int64_t> starts(slice.getStarts()),
            strides(slice.getStrides());
        for (int64_t dim : dims) {
          starts[dim] = 0;
          strides[dim] = 1;
          shape[dim] = slice.getInput().getType().getDimSize(dim);
        }
        value = SliceOp::create(builder, op->getLoc(),
                                Emitter::withShape(value, shape), value, starts,
                                strides);
      }
      for (int64_t dim : dims) {
        shape.assign(typeOf(value).getShape().begin(),
                     typeOf(value).getShape().end());
        int64_t size = shape[dim], length = wanted.getDimSize(dim);
        shape[dim] = length;
        SplicePieces pieces{dim, {}};
        if (slice) {
          pieces.add(
              {value, slice.getStarts()[dim], length, slice.getStrides()[dim]});
        } else {
          int64_t low = pad.getLow()[dim];
          pieces.add({pad.getValue(), 0, low});
          pieces.add({value, 0, size});
          pieces.add({pad.getValue(), 0, length - low - size});
        }
        value = pieces.build(builder, op->getLoc(),
                             Emitter::withShape(value, shape));
      }
      if (pad) {
        SmallVector<int64_t> low(pad.getLow());
        for (int64_t dim : dims)
          low[dim] = 0;
        value = PadOp::create(builder, op->getLoc(), wanted, value,
                              pad.getValue(), low);
      }
      for (Operation &part : *builder.getInsertionBlock())
        inferShardings(&part, table);
      if (const TensorSharding *sharding = table.lookup(op->getResult(0)))
        table.set(value, *sharding);
      return SmallVector<Value>{value};
    });
  }

  /// `op` as a splice, if it can be one. If `op` is the only user of a slice,
  /// the splice takes the operand of that slice.
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
    // The op only reassembles a tensor from its parts, so the splice would be a
    // no-op.
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
  // A pad cannot pass on a partial value.
  return layout.dims[splice.getDim()].axes.empty() && layout.unreduced.empty();
}

PartsCost tp::plan::getPartsCost(SpliceOp splice, const TensorSharding &layout,
                                 const CostModel &cost) {
  Block parts;
  OpBuilder builder(splice.getContext());
  builder.setInsertionPointToEnd(&parts);
  splice.decompose(builder);
  PartsCost sum;
  // Tensors have the layout of the splice. Scalars are replicated, and so are
  // the index vectors that reverse a part.
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
    // No op needs a sharded dimension whole, so getPrice() returns a price.
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
      // Index vectors, which reverse a part, have rank 1: replicate them.
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
