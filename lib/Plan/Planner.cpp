// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Plan/Planner.h"

#include "Atoms.h"
#include "FitMemory.h"
#include "Model.h"
#include "PlanPrice.h"
#include "Slack.h"
#include "Splices.h"
#include "StepEstimate.h"
#include "Unflatten.h"

#include "tpopt/Dialect/TP/TP.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"

#include <limits>
#include <map>
#include <numeric>
#include <set>

#define DEBUG_TYPE "tp-partition"

using namespace mlir;
using namespace tp;
using namespace tp::plan;
using namespace tp::spmd;
using namespace tp::cost;

/// Returns true if `op` has a factor that must not be sharded, and one of its
/// tensors is sharded along that factor. If arguments are free, returns true
/// for every op with such a factor, because the factor could be sharded.
static bool hasShardedWholeFactor(Operation *op, ShardingTable &table,
                                  bool freeArguments) {
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled)
    return false;
  ShardingRule rule = ruled.getShardingRule();
  auto isWhole = [&](unsigned f) {
    return rule.factors[f].kind == FactorKind::Whole &&
           rule.factors[f].size > 1;
  };
  if (freeArguments)
    return llvm::any_of(llvm::seq<unsigned>(rule.factors.size()), isWhole);
  SmallVector<Value> tensors(op->getOperands());
  llvm::append_range(tensors, op->getResults());
  for (auto [t, value] : llvm::enumerate(tensors)) {
    const TensorSharding *sharding = table.lookup(value);
    if (!sharding)
      continue;
    for (auto [dim, factors] : llvm::zip(sharding->dims, rule.getTensor(t)))
      if (!dim.axes.empty() && llvm::any_of(factors, isWhole))
        return true;
  }
  return false;
}

/// Returns true if `op` is a splice that reads only a part of an input, and
/// this input is sharded, but not along the splice's dimension. If the input
/// has to be gathered, slicing it first leaves less to send.
static bool canSliceBeforeReshard(Operation *op, ShardingTable &table) {
  auto splice = dyn_cast<SpliceOp>(op);
  if (!splice)
    return false;
  llvm::SmallMapVector<Value, int64_t, 2> taken;
  for (auto [input, size] :
       llvm::zip_equal(splice.getInputs(), splice.getSizes()))
    taken[input] += size;
  int64_t dim = splice.getDim();
  return llvm::any_of(taken, [&](const auto &entry) {
    auto [input, size] = entry;
    auto type = cast<RankedTensorType>(input.getType());
    const TensorSharding *sharding = table.lookup(input);
    return type.getRank() != 0 && size < type.getDimSize(dim) && sharding &&
           sharding->dims[dim].axes.empty() && !sharding->getDimAxes().empty();
  });
}

/// The relative difference up to which costs count as equal: they may be sums
/// of the same terms in different orders.
static constexpr double kRounding = 1e-12;

/// The maximum number of times that a plan is revised (see `reviseStarts`). A
/// plan is not revised if its cost has a relative error of at most
/// `kStartSlack`.
static constexpr int kMostRevisions = 2;
static constexpr double kStartSlack = 1e-3;

/// The part of their cost that reshards with slack pay in a plan for overlap.
/// The step lasts as long as the longer of the computation and these reshards.
/// If both take equally long, shortening either alone does not help, so each
/// counts half. Computation counts whole here, because it also hides other
/// collectives.
static constexpr double kExposed = 0.5;

struct Planner::Impl {
  Impl(Operation *root, ShardingTable &table, const CostModel &cost,
       PlannerOptions options)
      : root(root), freeArguments(options.freeArguments),
        capacity(options.capacity), bucketBytes(options.bucketBytes),
        overlap(options.overlap),
        atoms(collectAtoms(root, table, options.allAxes)),
        space(table, atoms, cost, /*evenly=*/isa<ManualOp>(root)), view(root) {}

  void choose() {
    SmallVector<Operation *> splices;
    for (Operation *op : view.getOps())
      if (isa<SliceOp, PadOp, ConcatOp>(op) &&
          hasShardedWholeFactor(op, space.table, freeArguments))
        splices.push_back(op);
    view.set(addSplices(view, splices, space.table), /*isOn=*/true);
    decomposeWhereCheaper();
    makePlan();
    leaveCountedWhole();
    fit();
    if (overlap && slack)
      planForOverlap();
  }

  void makePlan() {
    price.reset();
    solve();
    price.emplace(space, graph, model->getSelection());
    if (slack)
      reviseStarts();
  }

  /// Plans again. The first plan assumes that all values that may share
  /// start-up costs do so. If only few of these values have launches, these few
  /// pay larger fractions of the start-up costs, and another plan may be
  /// cheaper. So a new plan assumes that start-up costs are shared only by the
  /// values that have launches in the current plan. Each plan is priced with
  /// its own launches, and the cheapest plan is kept.
  void reviseStarts() {
    Slack assumed = *slack, best = assumed;
    double least = std::numeric_limits<double>::infinity(),
           start = space.cost.getLeastStart();
    for (int round = 0;; ++round) {
      std::vector<ReshardsPrice> prices = getReshardPrices();
      Slack actual = assumed;
      actual.recount(prices);
      double saved = start * actual.getSavedStarts(prices),
             cost = price->getPrice().getTotal() - saved -
                    (1 - exposed) * getSlackCost(actual, prices);
      if (cost >= (1 - kRounding) * least)
        return planWith(best);
      least = cost;
      best = assumed;
      if (round == kMostRevisions ||
          start * assumed.getSavedStarts(prices) - saved <= kStartSlack * cost)
        return;
      assumed = actual;
      planWith(assumed);
    }
  }

  void planWith(const Slack &slack) {
    price.reset();
    slack.setShares(graph);
    model.emplace(space, graph);
    model->solve();
    price.emplace(space, graph, model->getSelection());
  }

  /// Calls `see` for each reshard of the plan, with the number of its value,
  /// the copy that it makes, whether it sums, and the price of all its runs.
  void forEachReshard(
      function_ref<void(unsigned, const Copy &, bool, const Price &)> see) {
    for (auto [number, value] : llvm::enumerate(graph.values)) {
      if (value.origin != number || value.isBorder)
        continue;
      auto copies = price->getCopies(number);
      ReshardPrices prices = space.getPrices(value.type);
      for (const Copy &copy : ArrayRef(copies).drop_front()) {
        unsigned source = copies[copy.source].layout;
        see(number, copy, !space.pool.get(source).unreduced.empty(),
            value.times * prices.get(source, copy.layout, value.times > 1));
      }
    }
  }

  /// Returns the price of each value's reshards.
  std::vector<ReshardsPrice> getReshardPrices() {
    std::vector<ReshardsPrice> sent(graph.values.size());
    forEachReshard(
        [&](unsigned number, const Copy &, bool isSum, const Price &price) {
          (isSum ? sent[number].sums : sent[number].gathers) += price;
        });
    return sent;
  }

  /// The cost of reshards, less the starts that they do not pay.
  double getSharedCost(const Price &price, const PriceShares &shares) const {
    return price.cost -
           (1 - shares.start) * price.launches * space.cost.getLeastStart();
  }

  double getSlackCost(const Slack &slack,
                      ArrayRef<ReshardsPrice> prices) const {
    double cost = 0;
    for (auto [number, price] : llvm::enumerate(prices)) {
      ReshardShares shares = slack.getShares(number);
      if (slack.hasGathersWithSlack(number))
        cost += getSharedCost(price.gathers, shares.gathers);
      if (slack.hasSumsWithSlack(number))
        cost += getSharedCost(price.sums, shares.sums);
    }
    return cost;
  }

  /// Plans again for a program whose collectives overlap with computation. If
  /// reshards with slack are cheaper than others, a plan may send more bytes
  /// and yet wait less. For example, it may gather weights instead of
  /// activations that are fewer bytes, since a product waits for activations.
  /// The plan with the shorter predicted step is kept, unless only the other
  /// one fits into memory.
  void planForOverlap() {
    double time = getOverlappedTime();
    bool didFit = fitsMemory();
    makeFittingPlan(kExposed);
    if (fitsMemory() == didFit ? getOverlappedTime() < (1 - kRounding) * time
                               : fitsMemory())
      return;
    makeFittingPlan(1);
  }

  /// Makes a plan in which reshards with slack pay this fraction of their cost.
  void makeFittingPlan(double fraction) {
    exposed = fraction;
    for (const auto &[gain, rewrites] : decomposed)
      view.set(rewrites, /*isOn=*/true); // `fit` may have undone them
    makePlan();
    fit();
  }

  /// Predicts the time of the plan if its collectives overlap with computation.
  /// Reshards hide behind contractions alone. All other ops are priced one by
  /// one here, but many of them will be fused, and then take much less time.
  /// Reshards in loops hide only if they have slack.
  double getOverlappedTime() {
    Slack actual = *slack;
    actual.recount(getReshardPrices());
    std::vector<double> clock = getContractionClock();
    StepEstimate step(clock.back());
    // The time of everything that neither hides nor is hidden.
    double other = price->getPrice().cost - clock.back();
    forEachReshard([&](unsigned number, const Copy &copy, bool isSum,
                       const Price &sent) {
      const PlanValue &value = graph.values[number];
      ReshardShares shares = actual.getShares(number);
      double cost = getSharedCost(sent, isSum ? shares.sums : shares.gathers);
      other -= sent.cost - cost;
      bool hasSlack = isSum ? actual.hasSumsWithSlack(number)
                            : actual.hasGathersWithSlack(number);
      if (!hasSlack && value.times > 1)
        return;
      other -= cost;
      const PlanUse &need = getFirstNeed(value, copy);
      if (hasSlack && isSum) {
        auto [begin, end] =
            getOutermostSpan(graph.values[actual.getSumSource(number)]);
        double complete = clock[end + 1];
        step.addSum(begin == end ? complete : clock[begin], complete, cost);
      } else if (hasSlack) {
        auto [begin, end] = value.times > 1 ? getOutermostSpan(value)
                                            : std::pair(need.begin, need.end);
        step.addGather(clock[begin], clock[end], cost);
      } else {
        Operation *maker = value.value.getDefiningOp();
        step.addTransfer(maker ? clock[view.getEnd(maker) + 1] : 0,
                         clock[need.begin], cost);
      }
    });
    return other + step.get();
  }

  /// The first and the last point of the op that makes the value, or of the
  /// outermost loop that contains this op.
  std::pair<unsigned, unsigned> getOutermostSpan(const PlanValue &value) const {
    Operation *op = value.value.getDefiningOp(), *outer = view.getAnchor(op);
    if (outer->getParentOp() == root) // only `op` has points if it is rewritten
      return {view.getBegin(op), view.getEnd(op)};
    while (outer->getParentOp() != root)
      outer = outer->getParentOp();
    return {view.getBegin(outer), view.getEnd(outer)};
  }

  /// The first use that needs the copy.
  const PlanUse &getFirstNeed(const PlanValue &value, const Copy &copy) const {
    for (const PlanUse &use :
         ArrayRef(value.needs)
             .slice(copy.firstUse, copy.lastUse - copy.firstUse))
      if (!use.isPassedOn &&
          graph.getLayout(use.port, price->getSelection()) == copy.layout)
        return use;
    return *copy.need;
  }

  /// For each point, the cost of the contractions before it, each times its
  /// runs.
  std::vector<double> getContractionClock() const {
    std::vector<double> clock(graph.numPoints + 1);
    for (Operation *op : view.getOps()) {
      auto it = graph.opChoices.find(op);
      auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
      if (it == graph.opChoices.end() || !ruled ||
          !isContraction(ruled.getShardingRule()))
        continue;
      const Choice &choice = graph.choices[it->second];
      unsigned option = price->getSelection()[it->second];
      clock[choice.point + 1] +=
          choice.times * choice.options->prices[option].cost;
    }
    std::partial_sum(clock.begin(), clock.end(), clock.begin());
    return clock;
  }

  /// Decides whether to shard the dimensions in `tp.counted`, which saves bytes
  /// but may take more launches. With links, the plan's cost already includes
  /// the start-up of launches. Without links, these dimensions are sharded only
  /// if each extra launch saves at least the plan's average cost per launch:
  /// saving a fraction of the cost justifies the same fraction of extra
  /// launches.
  void leaveCountedWhole() {
    if (space.table.getMesh().hasLinks)
      return;
    // Equal ops are changed together.
    std::set<std::vector<const void *>> seen;
    for (Operation *op : SmallVector<Operation *>(view.getOps())) {
      if (!isCountedCut(op) || !seen.insert(getStructure(op)).second)
        continue;
      Price cut = price->getPrice();
      space.strategies.setCountedWhole(op, true);
      makePlan();
      Price whole = price->getPrice();
      double more = cut.launches - whole.launches;
      if (fitsMemory() && more > 0 &&
          whole.cost - cut.cost < more * cut.cost / cut.launches) {
        traded += std::max(0.0, whole.cost - cut.cost);
        continue;
      }
      space.strategies.setCountedWhole(op, false);
      makePlan();
    }
  }

  bool fitsMemory() const {
    return capacity == 0 || price->getHeldBytes() <= capacity;
  }

  /// Returns true if the plan shards the dimensions in `tp.counted` of `op`.
  bool isCountedCut(Operation *op) const {
    auto counted = op->getAttrOfType<DenseI64ArrayAttr>(kCountedAttr);
    return counted && llvm::any_of(counted.asArrayRef(), [&](int64_t dim) {
             return !getSharding({graph.opChoices.lookup(op), /*tensor=*/0})
                         .dims[dim]
                         .axes.empty();
           });
  }

  /// While the plan does not fit, undoes decompositions that make it cheaper
  /// but take more memory. Then changes the plan itself.
  void fit() {
    if (capacity == 0)
      return;
    for (const auto &[gain, rewrites] : decomposed) {
      int64_t before = price->getHeldBytes();
      if (before <= capacity)
        return;
      view.set(rewrites, /*isOn=*/false);
      makePlan();
      if (price->getHeldBytes() < before)
        continue;
      view.set(rewrites, /*isOn=*/true);
      makePlan();
    }
    fitMemory(graph, *price, capacity);
    LDBG() << "the plan needs " << price->getHeldBytes() << " of " << capacity
           << " bytes";
  }

  /// Plans the program with the current rewrites; returns the cost.
  double solve() {
    model.reset();
    graph = buildGraph(space, view, root, freeArguments);
    slack.reset();
    if (space.cost.getLeastStart() > 0 && bucketBytes != 0) {
      slack.emplace(graph, view, space.pool, bucketBytes);
      slack->setExposed(exposed);
      slack->setShares(graph);
    }
    model.emplace(space, graph);
    double cost = model->solve();
    LDBG() << view.getOps().size() << " ops cost " << cost << ", at least "
           << model->getLowerBound()
           << (model->isOptimal() ? " (optimal)" : " (not proved)");
    return cost;
  }

  /// If an op has a factor that must not be sharded, but propagation has
  /// sharded it, replaces the op by its decomposition where that makes the
  /// whole program cheaper. Equal ops, such as those of repeated layers, are
  /// decided together. All splices that can become slices again are only tried
  /// together, because slicing first rarely leaves less to send. All flat
  /// products around an attention are decided together, because they are
  /// sharded like the attention.
  void decomposeWhereCheaper() {
    std::map<std::vector<const void *>, unsigned> numbers;
    std::vector<SmallVector<ProgramView::Rewrite *>> groups; // program order
    SmallVector<ProgramView::Rewrite *> splices;
    SmallVector<Operation *> ops(view.getOps());
    for (Operation *op : ops)
      if (canSliceBeforeReshard(op, space.table)) {
        splices.push_back(&addDecomposition(op));
      } else if (isa<DecomposeOpInterface>(op) &&
                 hasShardedWholeFactor(op, space.table, freeArguments)) {
        auto [it, isNew] = numbers.try_emplace(getStructure(op), groups.size());
        if (isNew)
          groups.emplace_back();
        groups[it->second].push_back(&addDecomposition(op));
      }
    if (!splices.empty())
      groups.push_back(std::move(splices));
    auto unflattened = addUnflattened(view, ops, getCounts(), space.table);
    if (!unflattened.empty())
      groups.push_back(std::move(unflattened));
    if (groups.empty())
      return;
    double best = solve();
    for (const SmallVector<ProgramView::Rewrite *> &rewrites : groups) {
      view.set(rewrites, /*isOn=*/true);
      double cost = solve();
      // The gain must exceed rounding errors. On a tie, the op is not
      // decomposed, because a decomposition holds intermediate values.
      if (cost < (1 - kRounding) * best) {
        decomposed.insert({best - cost, rewrites});
        best = cost;
      } else {
        view.set(rewrites, /*isOn=*/false);
      }
    }
  }

  /// The numbers of pieces into which a dimension may be split.
  SmallVector<int64_t> getCounts() const {
    std::set<int64_t> counts = {1};
    for (const AxisRef &atom : atoms)
      for (int64_t count : std::set<int64_t>(counts))
        counts.insert(count * atom.size);
    counts.erase(1);
    return {counts.begin(), counts.end()};
  }

  ProgramView::Rewrite &addDecomposition(Operation *op) {
    return view.add(op, {}, [&](OpBuilder &builder) {
      SmallVector<Value> values =
          cast<DecomposeOpInterface>(op).decompose(builder);
      for (Operation &part : *builder.getInsertionBlock())
        inferShardings(&part, space.table);
      return values;
    });
  }

  const TensorSharding &getSharding(Port port) const {
    return space.pool.get(graph.getLayout(port, price->getSelection()));
  }

  Operation *root;
  bool freeArguments;
  int64_t capacity, bucketBytes;
  bool overlap;
  SmallVector<AxisRef> atoms;
  SearchSpace space;
  ProgramView view;
  PlanGraph graph;
  std::optional<Slack> slack; ///< Empty without launch latencies.
  double exposed = 1; ///< The fraction of their cost that its reshards pay.
  std::optional<Model> model;
  std::optional<PlanPrice> price;
  /// The chosen decompositions, grouped by equal ops, with the cost that each
  /// group saves.
  std::multimap<double, SmallVector<ProgramView::Rewrite *>> decomposed;
  /// The cost that was added to the plan in exchange for fewer launches.
  double traded = 0;
};

Planner::Planner(Operation *root, ShardingTable &table, const CostModel &cost,
                 PlannerOptions options)
    : impl(std::make_unique<Impl>(root, table, cost, options)) {}

Planner::~Planner() = default;

void Planner::choose() { impl->choose(); }

bool Planner::isOptimal() const { return getGap() == 0; }

double Planner::getGap() const { return impl->model->getGap() + impl->traded; }

PlanCost Planner::getCost() const {
  return {impl->price->getPrice(), impl->price->getPersistentBytes(),
          impl->price->getPeakBytes()};
}

ArrayRef<Operation *> Planner::getOps() const { return impl->view.getOps(); }

const TensorSharding &Planner::getLayout(Value value) const {
  auto it = impl->graph.valueNumbers.find(value);
  if (it == impl->graph.valueNumbers.end())
    return impl->space.pool.get(impl->space.getNumber(value));
  return impl->getSharding(impl->graph.values[it->second].producer);
}

const TensorSharding &Planner::getBorder(Value carrier) const {
  return impl->getSharding({impl->graph.carriers.lookup(carrier), 0});
}

const TensorSharding *Planner::getResultLayout(unsigned result) const {
  auto it = impl->graph.results.find(result);
  if (it == impl->graph.results.end())
    return nullptr;
  return &impl->getSharding({it->second, 0});
}

SmallVector<Planner::Reshard, 0> Planner::getReshards(Value value) const {
  SmallVector<Reshard, 0> reshards;
  auto it = impl->graph.valueNumbers.find(value);
  if (it == impl->graph.valueNumbers.end() ||
      impl->graph.values[it->second].origin != it->second)
    return reshards;
  const PlanGraph &graph = impl->graph;
  const PlanValue &planned = graph.values[it->second];
  const Selection &selection = impl->price->getSelection();
  auto copies = impl->price->getCopies(it->second);
  ReshardPrices prices = impl->space.getPrices(planned.type);
  for (const Copy &copy : ArrayRef(copies).drop_front()) {
    Reshard &reshard = reshards.emplace_back();
    reshard.layout = &impl->space.pool.get(copy.layout);
    reshard.source = int(copy.source) - 1;
    reshard.isFree =
        prices
            .get(copies[copy.source].layout, copy.layout, /*isRepeated=*/false)
            .cost == 0;
    reshard.before = impl->view.getOpAt(copy.begin / 2);
    reshard.user = copy.need->operand->getOwner();
    for (unsigned use = copy.firstUse; use < copy.lastUse; ++use)
      if (const PlanUse &need = planned.needs[use];
          !need.isPassedOn &&
          graph.getLayout(need.port, selection) == copy.layout)
        reshard.uses.push_back(need.operand);
  }
  return reshards;
}

SmallVector<Planner::Alternative>
Planner::getAlternatives(Value value, unsigned most) const {
  SmallVector<Alternative> alternatives;
  auto it = impl->graph.valueNumbers.find(value);
  if (it == impl->graph.valueNumbers.end() || !value.getDefiningOp() ||
      !impl->graph.opChoices.count(value.getDefiningOp()))
    return alternatives;
  for (const Model::Alternative &alternative : impl->model->getAlternatives(
           impl->graph.values[it->second].producer, most))
    alternatives.push_back(
        {&impl->space.pool.get(alternative.layout), alternative.regret});
  return alternatives;
}

bool Planner::select(Value value, const TensorSharding &layout) {
  auto it = impl->graph.valueNumbers.find(value);
  if (it == impl->graph.valueNumbers.end())
    return false;
  Port port = impl->graph.values[it->second].producer;
  const StrategySet &options = *impl->graph.choices[port.choice].options;
  unsigned number = impl->space.pool.getNumber(layout);
  std::optional<unsigned> best;
  double least = std::numeric_limits<double>::infinity();
  unsigned before = impl->price->getSelection()[port.choice];
  for (unsigned option = 0; option < options.prices.size(); ++option) {
    if (options.getLayout(port.tensor, option) != number)
      continue;
    impl->price->select(port.choice, option);
    double cost = impl->price->getPrice().getTotal();
    if (!best || cost < least) {
      best = option;
      least = cost;
    }
  }
  impl->price->select(port.choice, best.value_or(before));
  return best.has_value();
}

void Planner::commit() { impl->view.commit(); }

void Planner::takeSplicesApart() {
  plan::takeSplicesApart(impl->view.getOps(), impl->space.table);
}
