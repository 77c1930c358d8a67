// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Problem.h"

#include "tpopt/Cost/ProgramCost.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Sharding/Projection.h"

#include "llvm/Support/DebugLog.h"

#include <cmath>
#include <limits>

#define DEBUG_TYPE "tp-partition"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

//===----------------------------------------------------------------------===//
// PartitionContext
//===----------------------------------------------------------------------===//

ReshardPrices PartitionContext::getPrices(Type type) {
  ArrayRef<int64_t> sizes = cast<RankedTensorType>(type).getShape();
  int64_t elementBytes = getElementBytes(type);
  return {estimator, estimator.getShape(sizes, elementBytes),
          cost.getLaunchPreference(getVolume(sizes) * elementBytes)};
}

double PartitionContext::getReshardCost(Type type, const TensorSharding &from,
                                        const TensorSharding &to) {
  return getPrices(type).get(pool.getNumber(from), pool.getNumber(to));
}

unsigned PartitionContext::getNumber(const TensorSharding &resolved) {
  auto [it, isNew] = numbers.try_emplace(&resolved);
  if (isNew)
    it->second = pool.getNumber(resolved);
  return it->second;
}

unsigned PartitionContext::getNumber(Value value) {
  const TensorSharding *sharding = table.lookup(value);
  return sharding
             ? getNumber(*sharding)
             : getReplicated(cast<RankedTensorType>(value.getType()).getRank());
}

const StrategySet &PartitionContext::getConstrained(ConstraintOp op) {
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
    // What is asked for, and more on open dimensions.
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

const LayoutList &
PartitionContext::getUnion(ArrayRef<const LayoutList *> lists) {
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

const StrategySet &
PartitionContext::getCarried(RankedTensorType type,
                             const TensorSharding *annotation, KindSet kinds) {
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
    // Axes of size 1 cut nothing, and are none of the ways.
    if (ways.empty())
      ways.push_back({{getNumber(*annotation)}, Price()});
  }
  it->second = std::make_unique<StrategySet>(ways, 1, pool);
  return *it->second;
}

const pbqp::CostMatrix &PartitionContext::getMatrix(Type type,
                                                    const LayoutList &from,
                                                    const LayoutList &to,
                                                    double times,
                                                    bool transposed) {
  auto [it, isNew] = matrices.try_emplace(
      {type.getAsOpaquePointer(), &from, &to, times, transposed},
      transposed ? to.size() : from.size(),
      transposed ? from.size() : to.size());
  if (!isNew)
    return it->second;
  ReshardPrices prices = getPrices(type);
  prices.estimator.expect(to, prices.shape);
  for (auto [i, source] : llvm::enumerate(from))
    for (auto [j, target] : llvm::enumerate(to))
      (transposed ? it->second.at(j, i) : it->second.at(i, j)) =
          times * prices.get(source, target);
  return it->second;
}

//===----------------------------------------------------------------------===//
// PartitionProblem
//===----------------------------------------------------------------------===//

PartitionProblem::PartitionProblem(PartitionContext &context,
                                   ArrayRef<Operation *> ops, ManualOp manual)
    : context(context), ops(ops.begin(), ops.end()), manual(manual),
      borders(findBorders()) {}

bool PartitionProblem::isFixed(Operation *op) const {
  return !isa<ShardingRuleOpInterface>(op);
}

/// How often what stands in the same block as `op` runs. Turns that are not
/// known count as a few: what can leave a loop should.
static double getTimes(Operation *op) {
  constexpr double kUnknownTurns = 4;
  double times = std::max<int64_t>(1, getTrips(op).times);
  for (auto flow = op->getParentOfType<RegionFlowOpInterface>(); flow;
       flow = flow->getParentOfType<RegionFlowOpInterface>())
    if (!flow.getTripCount())
      times *= kUnknownTurns;
  return times;
}

/// How often copies of `value` are made, which stand beside it.
static double getTimes(Value value) {
  Operation *parent = value.getParentBlock()->getParentOp();
  return isa<FunctionOpInterface>(parent)
             ? 1
             : getTimes(value.getParentBlock()->getTerminator());
}

/// The value that stands for all whose layout `value` shares, if there is one:
/// the result of a loop or conditional, or an argument of the manual region.
/// What a manual region gives lies as others want it.
static Value getCarrier(Value value) {
  std::optional<Channel> channel = getChannel(value);
  if (!channel || (channel->op.isBorder() && isa<OpResult>(value)))
    return {};
  return channel->getOwner();
}

/// The same for what a value becomes. What a manual region takes lies as it
/// says.
static Value getCarrier(OpOperand &use) {
  std::optional<Channel> channel = getChannel(use);
  if (!channel || (channel->op.isBorder() && channel->op == use.getOwner()))
    return {};
  return channel->getOwner();
}

/// Strategy sets of all ops, in program order, so that it is known which values
/// may be partial. What a loop carries may be what its body makes, so that its
/// kinds grow to a fixpoint.
void PartitionProblem::enumerate() {
  llvm::DenseMap<Value, KindSet> partial;
  while (enumerate(partial)) {
  }
  for (Operation *op : ops) {
    auto flow = dyn_cast<RegionFlowOpInterface>(op);
    if (!flow || flow.isBorder())
      continue;
    for (Value result : op->getResults()) {
      carriers[result].set = &context.getCarried(
          cast<RankedTensorType>(result.getType()),
          context.table.lookup(result), partial.lookup(result));
    }
  }
  for (const Border &border : borders)
    carriers[border.carrier].set = &context.getCarried(
        border.type,
        &context.table.resolve(border.inside, border.type.getRank()),
        /*kinds=*/0);
}

/// What crosses the border of the manual region.
SmallVector<PartitionProblem::Border> PartitionProblem::findBorders() {
  SmallVector<Border> found;
  if (!manual)
    return found;
  auto add = [&](Value carrier, Value inside, Value outside,
                 ShardingAttr sharding) {
    ShardingAttr from = getSharding(outside);
    found.push_back({carrier, cast<RankedTensorType>(inside.getType()),
                     getFreePart(manual, sharding),
                     getFreePart(manual, from ? from : sharding)});
  };
  for (auto [arg, operand, sharding] :
       llvm::zip_equal(manual.getBody().getArguments(), manual.getInputs(),
                       manual.getInShardings().getAsRange<ShardingAttr>()))
    add(arg, arg, operand, sharding);
  for (auto [result, returned, sharding] :
       llvm::zip_equal(manual.getOutputs(),
                       manual.getBody().front().getTerminator()->getOperands(),
                       manual.getOutShardings().getAsRange<ShardingAttr>()))
    add(result, returned, result, sharding);
  return found;
}

/// One round; returns whether loops carry kinds that it did not know of.
bool PartitionProblem::enumerate(llvm::DenseMap<Value, KindSet> &partial) {
  bool grew = false;
  auto getKinds = [&](Value value) {
    Value carrier = getCarrier(value);
    return partial.lookup(carrier ? carrier : value);
  };
  for (Operation *op : ops) {
    if (isFixed(op)) {
      for (OpOperand &use : op->getOpOperands())
        if (Value carrier = getCarrier(use)) {
          KindSet &kinds = partial[carrier];
          KindSet more = kinds | getKinds(use.get());
          grew |= std::exchange(kinds, more) != more;
        }
      continue;
    }
    OpState &state = states[op];
    if (auto constraint = dyn_cast<ConstraintOp>(op)) {
      state.set = &context.getConstrained(constraint);
      continue;
    }
    SmallVector<KindSet> kinds;
    for (Value operand : op->getOperands())
      kinds.push_back(getKinds(operand));
    state.set = &context.strategies.get(op, kinds);
    for (Value result : op->getResults())
      partial[result] = state.set->partial;
  }
  return grew;
}

PartitionProblem::Port PartitionProblem::fix(unsigned layout) {
  return {nullptr, &context.pool.getList({layout}), context.getIdentity(1)};
}

PartitionProblem::Port PartitionProblem::getPort(Value carrier) {
  OpState &state = carriers.find(carrier)->second;
  return {&state.node, state.set->layouts[0], state.set->ports[0]};
}

PartitionProblem::Port PartitionProblem::getProducer(Value value) {
  if (Value carrier = getCarrier(value))
    return getPort(carrier);
  if (Operation *op = value.getDefiningOp()) {
    auto it = states.find(op);
    if (it != states.end() && it->second.set) {
      unsigned tensor =
          op->getNumOperands() + cast<OpResult>(value).getResultNumber();
      return {&it->second.node, it->second.set->layouts[tensor],
              it->second.set->ports[tensor]};
    }
  }
  // From outside: as propagation left it.
  return fix(context.getNumber(value));
}

/// The layout in which an op that is not a node of this problem takes a value.
static unsigned getFixedRequirement(PartitionContext &context, OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned index = use.getOperandNumber();
  unsigned rank = cast<RankedTensorType>(use.get().getType()).getRank();
  auto resolve = [&](ShardingAttr sharding) {
    return context.getNumber(context.table.resolve(sharding, rank));
  };
  if (auto manual = dyn_cast<ManualOp>(op))
    return resolve(cast<ShardingAttr>(manual.getInShardings()[index]));
  if (auto function = dyn_cast_or_null<FunctionOpInterface>(op->getParentOp());
      function && op->hasTrait<OpTrait::IsTerminator>()) {
    if (auto sharding =
            function.getResultAttrOfType<ShardingAttr>(index, kShardingAttr))
      return resolve(sharding);
    return context.getReplicated(rank);
  }
  // A scalar that all devices must know.
  if (isDecision(use))
    return context.getReplicated(rank);
  return context.getNumber(use.get());
}

std::optional<PartitionProblem::Port> PartitionProblem::getUse(OpOperand &use) {
  if (Value carrier = getCarrier(use))
    return getPort(carrier);
  auto it = states.find(use.getOwner());
  if (it != states.end() && it->second.set) {
    unsigned tensor = use.getOperandNumber();
    return Port{&it->second.node, it->second.set->layouts[tensor],
                it->second.set->ports[tensor]};
  }
  if (isa<GroupOp>(use.getOwner()))
    return std::nullopt;
  return fix(getFixedRequirement(context, use));
}

void PartitionProblem::connect(Type type, Port from, Port to, double times) {
  // Carried on as it is.
  if (from.node && from.node == to.node)
    return;
  // An edge runs from the earlier node to the later; what a loop's body hands
  // to the next turn flows backwards.
  bool isBackward = from.node && to.node && *from.node > *to.node;
  const pbqp::CostMatrix &matrix =
      context.getMatrix(type, *from.layouts, *to.layouts, times, isBackward);
  // Where one side has a single layout, the other pays by itself.
  if (from.layouts->size() == 1) {
    if (to.node)
      labeling.addCosts(*to.node, to.ports, matrix.values);
  } else if (to.layouts->size() == 1) {
    labeling.addCosts(*from.node, from.ports, matrix.values);
  } else {
    if (isBackward)
      std::swap(from, to);
    labeling.addEdge(*from.node, from.ports, *to.node, to.ports, matrix);
  }
}

/// Adds a value; of several users the node between them, which makes one
/// reshard count once. That is exact as long as all users can live with cuts of
/// that copy, which are free.
void PartitionProblem::addFlow(Value value) {
  if (!isa<RankedTensorType>(value.getType()))
    return;
  Flow flow{
      value.getType(), getProducer(value), {}, getTimes(value), nullptr, 0};
  for (OpOperand &use : value.getUses())
    if (states.count(use.getOwner()) || isFixed(use.getOwner()))
      if (std::optional<Port> port = getUse(use))
        flow.uses.push_back(*port);
  // Use lists run backwards; plans must not depend on that.
  std::reverse(flow.uses.begin(), flow.uses.end());
  if (flow.uses.size() > 1) {
    SmallVector<const LayoutList *> lists{flow.producer.layouts};
    for (const Port &use : flow.uses)
      lists.push_back(use.layouts);
    flow.shared = &context.getUnion(lists);
    flow.node = labeling.addNode(std::vector<double>(flow.shared->size(), 0));
  }
  flows.push_back(std::move(flow));
}

void PartitionProblem::connect(const Flow &flow) {
  Port source = flow.producer;
  if (flow.shared) {
    source = {&flow.node, flow.shared,
              context.getIdentity(flow.shared->size())};
    connect(flow.type, flow.producer, source, flow.times);
  }
  for (const Port &use : flow.uses)
    connect(flow.type, source, use, flow.times);
}

double PartitionProblem::solve() {
  enumerate();
  size_t numCandidates = 0;
  for (auto &[op, state] : states)
    numCandidates += state.set->prices.size();
  // An op and its copies, which have about as many candidates.
  labeling.reserveNodes(2 * ops.size(), 2 * numCandidates);
  // Nodes in the order of the data flow. Every value once: those from outside
  // first, then results in order.
  llvm::DenseSet<Value> outside;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (!states.count(operand.getDefiningOp()) && !getCarrier(operand) &&
          outside.insert(operand).second)
        addFlow(operand);
  auto addNode = [&](OpState &state, double times) {
    std::vector<double> costs;
    for (const Price &price : state.set->prices)
      costs.push_back(times * price.getTotal());
    state.node = labeling.addNode(costs);
  };
  for (const Border &border : borders)
    if (isa<BlockArgument>(border.carrier)) {
      addNode(carriers[border.carrier], getTimes(manual));
      addFlow(border.carrier);
    }
  for (Operation *op : ops) {
    if (auto it = states.find(op); it != states.end())
      addNode(it->second, getTimes(op));
    for (Value result : op->getResults()) {
      if (auto it = carriers.find(result); it != carriers.end())
        addNode(it->second, getTimes(op));
      if (!outside.count(result))
        addFlow(result);
    }
    for (Region &region : op->getRegions())
      for (Value arg : region.getArguments())
        if (carriers.count(getCarrier(arg)))
          addFlow(arg);
  }
  for (const Border &border : borders)
    if (!isa<BlockArgument>(border.carrier))
      addNode(carriers[border.carrier], getTimes(manual));
  size_t numEdges = 0;
  for (const Flow &flow : flows)
    numEdges += flow.uses.size() + (flow.shared ? 1 : 0);
  labeling.reserveEdges(numEdges);
  for (const Flow &flow : flows)
    connect(flow);
  // What is outside is taken for what propagation has left.
  for (const Border &border : borders) {
    Port inside = getPort(border.carrier),
         outside = fix(context.getNumber(
             context.table.resolve(border.outside, border.type.getRank())));
    if (isa<BlockArgument>(border.carrier))
      connect(border.type, outside, inside, getTimes(manual));
    else
      connect(border.type, inside, outside, getTimes(manual));
  }
  solution = labeling.solve();
  LDBG() << ops.size() << " ops cost " << solution.cost << ", at least "
         << solution.lowerBound
         << (solution.isClosed() ? " (optimal)" : " (not proved)");
  return solution.cost;
}

unsigned PartitionProblem::getCarriedLayout(Value carrier) const {
  const OpState &state = carriers.find(carrier)->second;
  return state.set->getLayout(0, solution.selection[state.node]);
}

const TensorSharding &PartitionProblem::getCarried(Value carrier) const {
  return context.pool.get(getCarriedLayout(carrier));
}

const TensorSharding &PartitionProblem::getLayout(Value value) const {
  auto getNumber = [&] {
    if (Value carrier = getCarrier(value))
      return getCarriedLayout(carrier);
    auto it = states.find(value.getDefiningOp());
    if (it == states.end())
      return context.getNumber(value);
    unsigned tensor =
        it->first->getNumOperands() + cast<OpResult>(value).getResultNumber();
    return it->second.set->getLayout(tensor,
                                     solution.selection[it->second.node]);
  };
  return context.pool.get(getNumber());
}

const TensorSharding &PartitionProblem::getRequirement(Operation *op,
                                                       unsigned index) const {
  auto getNumber = [&] {
    if (Value carrier = getCarrier(op->getOpOperand(index)))
      return getCarriedLayout(carrier);
    auto it = states.find(op);
    if (it == states.end())
      return getFixedRequirement(context, op->getOpOperand(index));
    return it->second.set->getLayout(index,
                                     solution.selection[it->second.node]);
  };
  return context.pool.get(getNumber());
}

std::vector<PartitionProblem::Alternative>
PartitionProblem::getAlternatives(Value value, unsigned most) const {
  Operation *op = value.getDefiningOp();
  auto it = states.find(op);
  if (!op || it == states.end())
    return {};
  unsigned tensor =
      op->getNumOperands() + cast<OpResult>(value).getResultNumber();
  llvm::DenseSet<unsigned> copies;
  for (const Flow &flow : flows)
    if (flow.shared)
      copies.insert(flow.node);
  std::vector<double> regrets =
      labeling.getRegrets(solution.selection, it->second.node,
                          [&](unsigned node) { return copies.count(node); });
  // Of the strategies that make one layout the cheapest.
  const StrategySet &set = *it->second.set;
  const TensorSharding &chosen = getLayout(value);
  const LayoutList &layouts = *set.layouts[tensor];
  std::vector<double> least(layouts.size(),
                            std::numeric_limits<double>::infinity());
  for (auto [port, regret] : llvm::zip_equal(set.ports[tensor], regrets))
    least[port] = std::min(least[port], regret);
  std::vector<std::pair<double, unsigned>> order;
  for (auto [port, layout] : llvm::enumerate(layouts))
    if (!context.pool.get(layout).sameLayout(chosen) &&
        std::isfinite(least[port]))
      order.push_back({least[port], port});
  llvm::sort(order);
  std::vector<Alternative> alternatives;
  for (auto [regret, port] : ArrayRef(order).take_front(most))
    alternatives.push_back({context.pool.get(layouts[port]), regret});
  return alternatives;
}
