// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SearchSpace.h"

#include "lib/Cost/Memory.h"
#include "tpopt/Sharding/Projection.h"

using namespace mlir;
using namespace tp;
using namespace tp::cost;
using namespace tp::plan;
using namespace tp::spmd;

unsigned SearchSpace::getNumber(const TensorSharding &resolved) {
  auto [it, isNew] = numbers.try_emplace(&resolved);
  if (isNew)
    it->second = pool.getNumber(resolved);
  return it->second;
}

unsigned SearchSpace::getNumber(Value value) {
  const TensorSharding *sharding = table.lookup(value);
  return sharding
             ? getNumber(*sharding)
             : getReplicated(cast<RankedTensorType>(value.getType()).getRank());
}

int64_t SearchSpace::getBytes(RankedTensorType type, unsigned layout) {
  auto [it, isNew] = bytes.try_emplace({type, layout});
  if (isNew)
    it->second = getBufferElements(pool.get(layout), type.getShape()) *
                 getElementBytes(type);
  return it->second;
}

const StrategySet &SearchSpace::getFixed(unsigned layout) {
  std::unique_ptr<StrategySet> &set = fixed[layout];
  if (!set)
    set = std::make_unique<StrategySet>(Strategy{{layout}, Price()}, 1, pool);
  return *set;
}

const StrategySet &SearchSpace::getConstrained(ConstraintOp op) {
  RankedTensorType type = cast<RankedTensorType>(op.getType());
  ShardingAttr attribute = op.getSharding();
  std::unique_ptr<StrategySet> &set =
      constrained[{type, attribute, getSharding(op)}];
  if (set)
    return *set;
  const TensorSharding &asked = table.resolve(attribute, type.getRank());
  unsigned layout = getNumber(asked);
  std::vector<Strategy> ways{{{layout, layout}, Price()}};
  if (llvm::any_of(asked.dims,
                   [](const DimSharding &dim) { return dim.open; })) {
    // Add the layouts that shard the open dimensions along further axes.
    for (Strategy &way :
         strategies.getIdentity(type, table.lookup(op), /*kinds=*/0)) {
      const TensorSharding &more = pool.get(way.layouts[0]);
      bool fits = way.layouts[0] != layout;
      for (auto [dim, wanted] : llvm::zip_equal(more.dims, asked.dims))
        fits &= wanted.open ? startsWith(dim.axes, wanted.axes)
                            : dim.axes == wanted.axes;
      for (const AxisRef &axis : asked.replicated)
        fits &= !more.uses(axis);
      if (fits)
        ways.push_back(std::move(way));
    }
  }
  set = std::make_unique<StrategySet>(ways, 2, pool);
  return *set;
}

const LayoutList &SearchSpace::getUnion(ArrayRef<const LayoutList *> lists) {
  auto [it, isNew] = unions.try_emplace(lists.vec());
  if (isNew) {
    LayoutList all;
    for (const LayoutList *list : lists)
      for (unsigned layout : *list)
        if (!llvm::is_contained(all, layout))
          all.push_back(layout);
    it->second = &pool.getList(std::move(all));
  }
  return *it->second;
}

const StrategySet &SearchSpace::getCarried(RankedTensorType type,
                                           const TensorSharding *annotation,
                                           KindSet kinds) {
  ShardingAttr attribute = annotation ? table.toAttr(*annotation) : nullptr;
  auto [it, isNew] = carried.try_emplace({type, attribute, kinds});
  if (!isNew)
    return *it->second;
  std::vector<Strategy> ways = strategies.getIdentity(type, annotation, kinds);
  if (annotation) {
    llvm::erase_if(ways, [&](const Strategy &way) {
      return llvm::any_of(
          llvm::zip_equal(pool.get(way.layouts[0]).dims, annotation->dims),
          [](auto dims) {
            auto [dim, wanted] = dims;
            return !wanted.open && dim.axes != wanted.axes;
          });
    });
    // Axes of size 1 shard nothing and are not enumerated.
    if (ways.empty())
      ways.push_back({{getNumber(*annotation)}, Price()});
  }
  it->second = std::make_unique<StrategySet>(ways, 1, pool);
  return *it->second;
}

const solver::CostMatrix &
SearchSpace::getMatrix(RankedTensorType type, const LayoutList &from,
                       const LayoutList &to, double times,
                       const ReshardShares &shares, bool transposed) {
  auto [it, isNew] =
      matrices.try_emplace({type.getAsOpaquePointer(), &from, &to, times,
                            shares.asTuple(), transposed},
                           transposed ? to.size() : from.size(),
                           transposed ? from.size() : to.size());
  if (!isNew)
    return it->second;
  ReshardPrices prices = getPrices(type);
  prices.expect(to);
  for (auto [i, source] : llvm::enumerate(from)) {
    bool sums = !pool.get(source).unreduced.empty();
    const PriceShares &share = sums ? shares.sums : shares.gathers;
    double spared = (1 - share.start) * cost.getLeastStart();
    for (auto [j, target] : llvm::enumerate(to)) {
      Price price = prices.get(source, target, times > 1);
      (transposed ? it->second.at(j, i) : it->second.at(i, j)) =
          times * (share.cost * (price.cost - spared * price.launches) +
                   price.preference);
    }
  }
  return it->second;
}
