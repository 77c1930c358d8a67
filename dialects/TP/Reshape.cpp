// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The exchanges of a reshape whose input and result have different blocks.

#include "dialects/OpError.h"
#include "dialects/TP/Restack.h"
#include "dialects/TP/Strips.h"
#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;

ShardingRule ReshapeOp::getShardingRule() {
  ShardingRule rule =
      makeReshapeRule(typeOf(getInput()).getShape(), getType().getShape());
  rule.movesBlocks = true;
  return rule;
}

namespace {
/// One side (operand or result) of a group of dimensions that a reshape splits
/// or merges.
struct Side {
  ArrayRef<int64_t> shape;
  const TensorSharding &layout;
  unsigned begin = 0, end = 0;

  /// The axes of the first dimension of size above 1, in order; nullopt if
  /// other dimensions are sharded.
  std::optional<AxisList> getAxes() const {
    std::optional<AxisList> axes;
    for (unsigned dim = begin; dim < end; ++dim) {
      if (shape[dim] == 1)
        continue;
      if (!axes) {
        axes.emplace();
        for (const AxisRef &axis : layout.dims[dim].axes)
          appendMerged(*axes, axis);
      } else if (getSize(layout.dims[dim].axes) > 1) {
        return std::nullopt;
      }
    }
    return axes;
  }

  /// The blocks into which this side's sharding splits the `n` elements of the
  /// whole group of dimensions.
  Blocks getBlocks(int64_t n) const {
    unsigned dim = begin;
    while (shape[dim] == 1)
      ++dim;
    BlockLayout own{shape[dim], getSize(layout.dims[dim].axes)};
    return {n, own.k, own.block() * (n / own.n)};
  }
};
} // namespace

SmallVector<Restack, 1> tp::getRestacks(ArrayRef<int64_t> input,
                                        const TensorSharding &inputLayout,
                                        ArrayRef<int64_t> result,
                                        const TensorSharding &resultLayout) {
  SmallVector<Restack, 1> restacks;
  if (llvm::is_contained(input, 0))
    return restacks;
  Side from{input, inputLayout}, to{result, resultLayout};
  while (from.end < input.size() && to.end < result.size()) {
    from.begin = from.end;
    to.begin = to.end;
    int64_t n = input[from.end++], m = result[to.end++];
    while (n != m)
      if (n < m)
        n *= input[from.end++];
      else
        m *= result[to.end++];
    std::optional<AxisList> axes = from.getAxes();
    if (n == 1 || !axes || getSize(*axes) == 1 || axes != to.getAxes())
      continue;
    Restack restack{*axes,  from.begin,        from.end,       to.begin,
                    to.end, from.getBlocks(n), to.getBlocks(n)};
    if (restack.from.size != restack.to.size)
      restacks.push_back(std::move(restack));
  }
  return restacks;
}

/// `shape` with dimensions [begin, end) replaced by one of the given size.
static SmallVector<int64_t> flatten(ArrayRef<int64_t> shape, unsigned begin,
                                    unsigned end, int64_t size) {
  SmallVector<int64_t> flat(shape.take_front(begin));
  flat.push_back(size);
  llvm::append_range(flat, shape.drop_front(end));
  return flat;
}

std::optional<SmallVector<spmd::Exchange>>
ReshapeOp::getExchanges(ArrayRef<TensorSharding> layouts) {
  RankedTensorType input = typeOf(getInput());
  SmallVector<spmd::Exchange> exchanges;
  for (const Restack &restack :
       getRestacks(input.getShape(), layouts.front(), getType().getShape(),
                   layouts.back())) {
    std::optional<Window> window = restack.getWindow(kMostDistances);
    if (!window)
      return std::nullopt;
    Fetches fetches;
    addFetches(fetches, 0, *window, restack.from.k);
    SmallVector<int64_t> local =
        getLocalShape(layouts.front(), input.getShape());
    for (const Fetch &fetch : fetches) {
      int64_t elements = getVolume(flatten(
          local, restack.inputBegin, restack.inputEnd, fetch.rows.size()));
      exchanges.push_back({CollectiveKind::CollectivePermute, restack.axes,
                           elements * int64_t(llvm::divideCeil(
                                          input.getElementTypeBitWidth(), 8))});
    }
  }
  if (exchanges.size() > kMostDistances)
    return std::nullopt;
  return exchanges;
}

/// Handles the groups of dimensions from last to first, so that the numbers of
/// the earlier dimensions stay valid.
FailureOr<SmallVector<Value>> ReshapeOp::localize(spmd::Localizer &localizer,
                                                  ValueRange operands) {
  OpBuilder &builder = localizer.getBuilder();
  Emitter emit(builder, getLoc());
  RankedTensorType result = localizer.getLocalType(getResult());
  Value value = operands.front();
  SmallVector<Restack, 1> restacks = getRestacks(
      typeOf(getInput()).getShape(), localizer.getSharding(getInput()),
      getType().getShape(), localizer.getSharding(getResult()));
  for (const Restack &restack : llvm::reverse(restacks)) {
    std::optional<Window> window = restack.getWindow(kMostDistances);
    // Partition chooses no sharding that fails here: see getExchanges().
    if (!window)
      return emitError() << prefix(ErrorCode::TooManyExchanges)
                         << "each device needs elements from more than "
                         << kMostDistances << " other devices: cut dimension "
                         << restack.inputBegin
                         << " along fewer axes, or gather it";
    Fetches fetches;
    addFetches(fetches, 0, *window, restack.from.k);
    int64_t dim = restack.inputBegin;
    SmallVector<int64_t> flat = flatten(typeOf(value).getShape(), dim,
                                        restack.inputEnd, restack.from.size);
    value = emit.reshape(value, flat);
    flat[dim] = restack.to.size;
    Value blocks[] = {value};
    value =
        StripLocalizer(localizer, getLoc(), dim, restack.axes, blocks, fetches)
            .getPart(0, *window, /*stride=*/1, /*isWhole=*/false,
                     Emitter::withShape(value, flat));
    // Split the dimension as in the result.
    ArrayRef<int64_t> own = result.getShape().slice(
        restack.resultBegin, restack.resultEnd - restack.resultBegin);
    SmallVector<int64_t> split(ArrayRef(flat).take_front(dim));
    llvm::append_range(split, own);
    llvm::append_range(split, ArrayRef(flat).drop_front(dim + 1));
    value = emit.reshape(value, split);
  }
  return SmallVector<Value>{create(builder, getLoc(), result, value)};
}
