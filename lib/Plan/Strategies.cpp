// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Strategies.h"

#include "Splices.h"

#include "dialects/TP/ShardingTable.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Sharding/Projection.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace tp;
using namespace tp::plan;
using namespace tp::spmd;
using namespace tp::cost;

static constexpr ReduceKind kAllKinds[] = {ReduceKind::Sum, ReduceKind::Max,
                                           ReduceKind::Min};

/// The reduction kinds in which results of `op` may be unreduced.
static KindSet getPartialKinds(Operation *op, const ShardingRule &rule,
                               ArrayRef<KindSet> operands) {
  KindSet kinds = 0;
  for (const Factor &factor : rule.factors)
    if (factor.kind == FactorKind::Reduction && factor.size > 1)
      kinds |= toSet(factor.reduce);
  if (auto linear = dyn_cast<LinearOpInterface>(op))
    for (auto [i, set] : llvm::enumerate(operands))
      for (ReduceKind kind : kAllKinds)
        if ((set & toSet(kind)) &&
            linear.getLinearity(i, kind) != Linearity::None)
          kinds |= toSet(kind);
  return kinds;
}

namespace {

/// Operands that are unreduced together, so that an op passes on a partial
/// value.
struct Flow {
  ReduceKind kind;
  SmallVector<unsigned, 2> operands;
};

/// The axes assigned to each factor, followed by the axes along which the
/// operands of each Flow are unreduced.
using Assignment = SmallVector<AxisList, 8>;

/// Enumerates the ways to assign each atom, a part of a mesh axis, to a factor
/// or to a Flow, or to leave it unused.
class Enumeration {
public:
  /// No strategy shards the first operand in the dimensions `whole`.
  Enumeration(Operation *op, ArrayRef<AxisRef> atoms, const CostModel &cost,
              LayoutPool &pool, bool evenly, ArrayRef<KindSet> partial,
              ArrayRef<int64_t> whole)
      : op(op), atoms(atoms), cost(cost), pool(pool), evenly(evenly),
        rule(cast<ShardingRuleOpInterface>(op).getShardingRule()) {
    for (int64_t dim : whole)
      for (unsigned f : rule.operands.front()[dim])
        rule.factors[f].kind = FactorKind::Whole;
    collectFlows(partial);
    prepare();
  }
  /// Enumerates the strategies of an identity, which costs nothing.
  Enumeration(RankedTensorType type, ArrayRef<AxisRef> atoms,
              const CostModel &cost, LayoutPool &pool, bool evenly,
              KindSet kinds)
      : type(type), atoms(atoms), cost(cost), pool(pool), evenly(evenly),
        rule(makeElementwiseRule(1, type.getShape())) {
    for (ReduceKind kind : kAllKinds)
      if (kinds & toSet(kind))
        flows.push_back({kind, {0}});
    prepare();
  }

  /// Finds all strategies; returns false if there are more than `limit`.
  bool run(size_t limit) {
    this->limit = limit;
    assign(0, nullptr, 0);
    return !isOver();
  }

  /// Finds at most `count` strategies: those that differ least from the
  /// tensors' `shardings`, where known, and on a tie the cheapest. This is a
  /// limited discrepancy search (Harvey and Ginsberg, 1995).
  void runNear(ArrayRef<const TensorSharding *> shardings, size_t count) {
    limit = kMaxTried;
    std::vector<Assignment> bases = getBases(shardings);
    std::vector<Strategy> near;
    for (unsigned distance = 0; distance <= atoms.size() && !isOver();
         ++distance) {
      for (const Assignment &base : bases)
        assign(0, &base, distance);
      std::vector<unsigned> order(found.size());
      std::iota(order.begin(), order.end(), 0);
      llvm::sort(order, [&](unsigned a, unsigned b) {
        return std::pair(found[a].price.getTotal(), a) <
               std::pair(found[b].price.getTotal(), b);
      });
      for (unsigned i : order)
        if (near.size() < count)
          near.push_back(std::move(found[i]));
      found.clear();
      if (near.size() == count)
        break;
    }
    found = std::move(near);
  }

  std::vector<Strategy> take() { return std::move(found); }

private:
  void prepare() {
    for (auto [f, factor] : llvm::enumerate(rule.factors))
      if (factor.kind != FactorKind::Whole && factor.size > 1)
        free.push_back(f);
    lists.resize(rule.factors.size() + flows.size());
  }

  bool isOver() const { return found.size() > limit || tried > kMaxTried; }

  void collectFlows(ArrayRef<KindSet> partial) {
    auto linear = dyn_cast<LinearOpInterface>(op);
    if (!linear)
      return;
    for (ReduceKind kind : kAllKinds) {
      Flow joint{kind, {}};
      bool arrives = false;
      for (unsigned i = 0; i < rule.operands.size(); ++i) {
        Linearity linearity = linear.getLinearity(i, kind);
        bool may = partial[i] & toSet(kind);
        if (linearity == Linearity::Joint) {
          joint.operands.push_back(i);
          arrives |= may;
        } else if (linearity == Linearity::Each && may) {
          flows.push_back({kind, {i}});
        }
      }
      if (arrives)
        flows.push_back(joint);
    }
  }

  MutableArrayRef<AxisList> factorAxes() {
    return MutableArrayRef(lists).take_front(rule.factors.size());
  }
  MutableArrayRef<AxisList> flowAxes() {
    return MutableArrayRef(lists).drop_front(rule.factors.size());
  }

  /// For each tensor with a known sharding, the assignment of axes that matches
  /// this sharding. Axes that the sharding does not use are assigned as in the
  /// shardings of the other tensors. The empty assignment is included, too.
  std::vector<Assignment> getBases(ArrayRef<const TensorSharding *> shardings) {
    std::vector<Assignment> asked;
    for (auto [t, sharding] : llvm::enumerate(shardings)) {
      if (!sharding)
        continue;
      Assignment &base = asked.emplace_back(lists.size());
      TensorProjection projection = project(rule, t, *sharding);
      for (unsigned f : free)
        for (const AxisRef &axis : projection[f].axes)
          for (const AxisRef &atom : atoms)
            if (axis.contains(atom))
              base[f].push_back(atom);
    }
    std::vector<Assignment> bases{Assignment(lists.size())};
    for (const Assignment &first : asked) {
      Assignment base = first;
      AxisList used;
      for (const AxisList &list : base)
        llvm::append_range(used, list);
      for (const Assignment &other : asked)
        for (auto [list, more] : llvm::zip_equal(base, other))
          for (const AxisRef &atom : more)
            if (!llvm::is_contained(used, atom)) {
              list.push_back(atom);
              used.push_back(atom);
            }
      if (!llvm::is_contained(bases, base))
        bases.push_back(base);
    }
    return bases;
  }

  /// Enumerates all assignments of the atoms from number `i` on; the atoms
  /// before it keep their assignment. With a `base`, enumerates only
  /// assignments in which exactly `distance` atoms are not assigned as in
  /// `base`.
  void assign(unsigned i, const Assignment *base, unsigned distance) {
    if (isOver())
      return;
    if (i == atoms.size()) {
      ++tried;
      if (distance == 0)
        emit();
      return;
    }
    // Goes on to the next atom. Atom `i` keeps its current assignment.
    auto next = [&](bool agrees) {
      if (!base || agrees)
        assign(i + 1, base, distance);
      else if (distance > 0)
        assign(i + 1, base, distance - 1);
    };
    const AxisRef &atom = atoms[i];
    next(!base || llvm::none_of(*base, [&](const AxisList &list) {
      return llvm::is_contained(list, atom);
    }));
    for (unsigned f : free) {
      AxisList saved = lists[f];
      ArrayRef<AxisRef> wanted;
      if (base)
        wanted = (*base)[f];
      const auto *place = llvm::find(wanted, atom);
      // Try every position in the list: the order of axes on a dimension
      // matters.
      for (unsigned at = 0; at <= saved.size(); ++at) {
        auto [before, behind] = std::pair(ArrayRef(saved).take_front(at),
                                          ArrayRef(saved).drop_front(at));
        // Parts of one axis must stay in order, so that they can be merged.
        if (llvm::any_of(behind,
                         [&](const AxisRef &a) { return a.axis == atom.axis; }))
          continue;
        auto isWantedBefore = [&](const AxisRef &a) {
          return llvm::find(wanted, a) < place;
        };
        lists[f] = saved;
        lists[f].insert(lists[f].begin() + at, atom);
        next(place != wanted.end() && llvm::all_of(before, isWantedBefore) &&
             llvm::none_of(behind, isWantedBefore));
      }
      lists[f] = saved;
    }
    for (AxisList &list : flowAxes()) {
      AxisList saved = list;
      list.push_back(atom);
      next(false);
      list = saved;
    }
  }

  void emit() {
    // A value can be partial with only one reduction kind.
    std::optional<ReduceKind> kind;
    AxisList unreduced;
    auto addUnreduced = [&](ReduceKind of, ArrayRef<AxisRef> list) {
      if (list.empty())
        return true;
      if (kind && *kind != of)
        return false;
      kind = of;
      unreduced.append(list.begin(), list.end());
      return true;
    };
    for (auto [f, list] : llvm::enumerate(factorAxes()))
      if (rule.factors[f].kind == FactorKind::Reduction &&
          !addUnreduced(rule.factors[f].reduce, list))
        return;
    for (auto [flow, list] : llvm::zip(flows, flowAxes()))
      if (!addUnreduced(flow.kind, list))
        return;

    // Compute the layouts. Some assignments of axes have no layouts.
    OpShardings shardings;
    if (getShardings(rule, factorAxes(), shardings) ||
        (evenly && havePadding(shardings)))
      return;
    for (auto [flow, list] : llvm::zip(flows, flowAxes()))
      for (unsigned operand : flow.operands) {
        if (list.empty())
          continue; // a different flow may set the operand's kind
        shardings.operands[operand].unreduced.append(list.begin(), list.end());
        shardings.operands[operand].kind = flow.kind;
      }
    Strategy strategy;
    for (const TensorSharding &operand : shardings.operands)
      strategy.layouts.push_back(pool.getNumber(operand));
    for (TensorSharding &result : shardings.results) {
      result.unreduced = unreduced;
      result.kind = kind.value_or(ReduceKind::Sum);
      strategy.layouts.push_back(pool.getNumber(result));
    }
    if (!setPrice(strategy))
      return;
    // The same strategy may be found from several bases.
    if (seen.insert(lists).second)
      found.push_back(std::move(strategy));
  }

  /// Returns true if some tensor has padding in its layout.
  bool havePadding(const OpShardings &shardings) const {
    auto hasPadding = [](const TensorSharding &sharding, Type of) {
      return tp::hasPadding(sharding, cast<RankedTensorType>(of).getShape());
    };
    if (!op)
      return hasPadding(shardings.results.front(), type);
    for (auto [sharding, of] :
         llvm::zip_equal(shardings.operands, op->getOperandTypes()))
      if (hasPadding(sharding, of))
        return true;
    for (auto [sharding, of] :
         llvm::zip_equal(shardings.results, op->getResultTypes()))
      if (hasPadding(sharding, of))
        return true;
    return false;
  }

  /// Returns false if the op cannot be computed with this strategy.
  bool setPrice(Strategy &strategy) {
    SmallVector<const TensorSharding *> layouts;
    for (unsigned layout : strategy.layouts)
      layouts.push_back(&pool.get(layout));
    if (!op) {
      strategy.price = cost.getCarryPrice(type, *layouts[0]);
      return true;
    }
    if (auto splice = dyn_cast<SpliceOp>(op);
        splice && isTakenApart(splice, *layouts.back())) {
      PartsCost parts = getPartsCost(splice, *layouts.back(), cost);
      strategy.price = parts.price;
      strategy.scratchBytes = parts.heldBytes;
    } else {
      std::optional<Price> price = cost.getPrice(op, rule, layouts);
      if (!price)
        return false;
      strategy.price = *price;
    }
    size_t flowing = 0;
    for (const AxisList &list : flowAxes())
      flowing += list.size();
    if (flowing)
      strategy.price.preference +=
          flowing * cost.getPartialPreference(op, layouts);
    return true;
  }

  /// The op to compute. If it is null, the strategies are ways to pass on a
  /// value of type `type`.
  Operation *op = nullptr;
  RankedTensorType type;
  ArrayRef<AxisRef> atoms;
  const CostModel &cost;
  LayoutPool &pool;
  bool evenly;
  ShardingRule rule;
  SmallVector<unsigned> free;
  SmallVector<Flow> flows;
  /// The assignment under construction.
  Assignment lists;
  std::set<Assignment> seen;
  std::vector<Strategy> found;
  /// Unlike `limit`, this also counts assignments that give no layouts, because
  /// they take time as well.
  static constexpr size_t kMaxTried = 1 << 14;
  size_t limit = 0, tried = 0;
};

} // namespace

StrategySet::StrategySet(ArrayRef<Strategy> strategies, unsigned numTensors,
                         LayoutPool &pool)
    : ports(numTensors) {
  for (const Strategy &strategy : strategies) {
    prices.push_back(strategy.price);
    scratchBytes.push_back(strategy.scratchBytes);
  }
  for (unsigned t = 0; t < numTensors; ++t) {
    LayoutList list;
    for (const Strategy &strategy : strategies) {
      auto it = llvm::find(list, strategy.layouts[t]);
      ports[t].push_back(it - list.begin());
      if (it == list.end())
        list.push_back(strategy.layouts[t]);
    }
    layouts.push_back(&pool.getList(std::move(list)));
  }
}

static std::unique_ptr<StrategySet> makeSet(Operation *op,
                                            ArrayRef<KindSet> partial,
                                            ArrayRef<Strategy> strategies,
                                            LayoutPool &pool) {
  auto set = std::make_unique<StrategySet>(
      strategies, op->getNumOperands() + op->getNumResults(), pool);
  set->partial = getPartialKinds(
      op, cast<ShardingRuleOpInterface>(op).getShardingRule(), partial);
  return set;
}

// Planning time grows with the square of the number of strategies. The ops of a
// transformer have fewer than this on a mesh with two axes.
static constexpr size_t kMaxStrategies = 64, kNearStrategies = 24;

std::vector<Strategy>
StrategyEnumerator::getIdentity(RankedTensorType type,
                                const TensorSharding *sharding, KindSet kinds) {
  Enumeration all(type, atoms, cost, pool, evenly, kinds);
  if (all.run(kMaxStrategies))
    return all.take();
  Enumeration near(type, atoms, cost, pool, evenly, kinds);
  near.runNear({sharding, sharding}, kNearStrategies);
  return near.take();
}

std::vector<const void *> plan::getStructure(Operation *op) {
  std::vector<const void *> key{
      op->getName().getAsOpaquePointer(),
      op->getPropertiesAsAttribute().getAsOpaquePointer()};
  for (Type type : op->getOperandTypes())
    key.push_back(type.getAsOpaquePointer());
  for (Type type : op->getResultTypes())
    key.push_back(type.getAsOpaquePointer());
  return key;
}

const StrategySet &StrategyEnumerator::get(Operation *op,
                                           ArrayRef<KindSet> partial) {
  std::vector<const void *> key = getStructure(op);
  ArrayRef<int64_t> whole;
  if (countedWhole.count(key))
    if (auto counted = op->getAttrOfType<DenseI64ArrayAttr>(kCountedAttr)) {
      whole = counted;
      key.push_back(counted.getAsOpaquePointer());
    }
  for (KindSet kinds : partial)
    key.push_back(reinterpret_cast<const void *>(uintptr_t(kinds)));
  if (!large.count(key)) {
    std::unique_ptr<StrategySet> &set = sets[key];
    if (set)
      return *set;
    Enumeration all(op, atoms, cost, pool, evenly, partial, whole);
    if (all.run(kMaxStrategies)) {
      set = makeSet(op, partial, all.take(), pool);
      return *set;
    }
    large.insert(key);
  }
  // There are too many strategies. Only those near the shardings of the op's
  // tensors are kept, so these shardings are added to the key.
  SmallVector<const TensorSharding *> shardings;
  for (Value value :
       llvm::concat<Value>(SmallVector<Value>(op->getOperands()),
                           SmallVector<Value>(op->getResults()))) {
    shardings.push_back(table.lookup(value));
    key.push_back(getSharding(value).getAsOpaquePointer());
  }
  std::unique_ptr<StrategySet> &set = sets[key];
  if (!set) {
    Enumeration near(op, atoms, cost, pool, evenly, partial, whole);
    near.runNear(shardings, kNearStrategies);
    set = makeSet(op, partial, near.take(), pool);
  }
  return *set;
}

void StrategyEnumerator::setCountedWhole(Operation *op, bool isWhole) {
  if (isWhole)
    countedWhole.insert(getStructure(op));
  else
    countedWhole.erase(getStructure(op));
}

void plan::inferShardings(Operation *op, ShardingTable &table) {
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled)
    return;
  ShardingRule rule = ruled.getShardingRule();
  FactorAxes axes(rule.factors.size());
  AxisList used;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    const TensorSharding *sharding = table.lookup(operand);
    if (!sharding)
      continue;
    TensorProjection projection = project(rule, i, *sharding);
    for (auto [list, factor] : llvm::zip_equal(axes, projection))
      if (list.empty() && !overlap(used, factor.axes)) {
        list = factor.axes;
        llvm::append_range(used, list);
      }
  }
  OpShardings shardings;
  while (std::optional<Misfit> misfit = getShardings(rule, axes, shardings))
    axes[misfit->factor].clear();
  for (auto [result, sharding] :
       llvm::zip_equal(op->getResults(), shardings.results)) {
    sharding.unreduced.clear();
    table.set(result, sharding);
  }
}
