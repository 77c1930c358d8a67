// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Problem.h"

#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

//===----------------------------------------------------------------------===//
// PartitionContext
//===----------------------------------------------------------------------===//

double PartitionContext::getReshardCost(Type type, const TensorSharding &from,
                                        const TensorSharding &to) {
  auto tensor = cast<RankedTensorType>(type);
  const ReshardPlan &plan =
      planner.plan(from, to, tensor.getShape(), getElementBytes(type));
  double bytes = getVolume(tensor.getShape()) * getElementBytes(type);
  return plan.cost + plan.launches * cost.getLaunchPenalty(bytes);
}

const Layouts &PartitionContext::getSingle(const TensorSharding &layout) {
  std::unique_ptr<Layouts> &list = singles[table.toAttr(layout)];
  if (!list)
    list = std::make_unique<Layouts>(1, layout);
  return *list;
}

const StrategySet &PartitionContext::getFixed(const TensorSharding &layout) {
  std::unique_ptr<StrategySet> &set = fixed[table.toAttr(layout)];
  if (!set) {
    set = std::make_unique<StrategySet>();
    set->strategies.push_back({{layout, layout}, 0});
    set->layouts = {{layout}, {layout}};
    set->ports = {{0}, {0}};
  }
  return *set;
}

const Layouts &PartitionContext::getUnion(ArrayRef<const Layouts *> lists) {
  auto [it, isNew] = unions.try_emplace(lists.vec());
  if (isNew)
    for (const Layouts *list : lists)
      for (const TensorSharding &layout : *list)
        if (!llvm::is_contained(it->second, layout))
          it->second.push_back(layout);
  return it->second;
}

const CostMatrix &PartitionContext::getMatrix(Type type, const Layouts &from,
                                              const Layouts &to) {
  auto [it, isNew] = matrices.try_emplace(
      {type.getAsOpaquePointer(), &from, &to}, from.size(), to.size());
  if (isNew)
    for (unsigned i = 0; i < from.size(); ++i)
      for (unsigned j = 0; j < to.size(); ++j)
        it->second.at(i, j) = getReshardCost(type, from[i], to[j]);
  return it->second;
}

//===----------------------------------------------------------------------===//
// PartitionProblem
//===----------------------------------------------------------------------===//

PartitionProblem::PartitionProblem(PartitionContext &context,
                                   ArrayRef<Operation *> ops)
    : context(context), ops(ops.begin(), ops.end()) {}

bool PartitionProblem::isFixed(Operation *op) const {
  return !isa<ShardingRuleOpInterface>(op);
}

/// Strategy sets of all ops, in program order, so that it is known which values
/// may be partial.
void PartitionProblem::enumerate() {
  llvm::DenseMap<Value, KindSet> partial;
  for (Operation *op : ops) {
    if (isFixed(op))
      continue;
    OpState &state = states[op];
    if (auto constraint = dyn_cast<ConstraintOp>(op)) {
      // Not a choice: the user made it.
      TensorSharding layout =
          context.table
              .resolve(constraint.getSharding(), constraint.getType().getRank())
              .getLayout();
      state.set = &context.getFixed(layout);
      continue;
    }
    SmallVector<KindSet> kinds;
    for (Value operand : op->getOperands())
      kinds.push_back(partial.lookup(operand));
    state.set = &context.strategies.get(op, kinds);
    KindSet made = getPartialKinds(
        op, cast<ShardingRuleOpInterface>(op).getShardingRule(), kinds);
    for (Value result : op->getResults())
      partial[result] = made;
  }
}

PartitionProblem::Port PartitionProblem::fix(const TensorSharding &layout) {
  return {nullptr, &context.getSingle(layout), context.getIdentity(1)};
}

PartitionProblem::Port PartitionProblem::getProducer(Value value) {
  if (Operation *op = value.getDefiningOp()) {
    auto it = states.find(op);
    if (it != states.end() && it->second.set) {
      unsigned tensor =
          op->getNumOperands() + cast<OpResult>(value).getResultNumber();
      return {&it->second.node, &it->second.set->layouts[tensor],
              it->second.set->ports[tensor]};
    }
  }
  // From outside, or tied by data flow: as propagation left it.
  const TensorSharding *sharding = context.table.lookup(value);
  return fix(sharding ? sharding->getLayout()
                      : TensorSharding::replicate(
                            cast<RankedTensorType>(value.getType()).getRank()));
}

/// The layout in which an op that is not a node of this problem takes a value.
static TensorSharding getFixedRequirement(ShardingTable &table, OpOperand &use,
                                          Value fallback) {
  Operation *op = use.getOwner();
  unsigned index = use.getOperandNumber();
  unsigned rank = cast<RankedTensorType>(use.get().getType()).getRank();
  auto layoutOf = [&](Value value) {
    const TensorSharding *sharding = table.lookup(value);
    return sharding ? sharding->getLayout() : TensorSharding::replicate(rank);
  };
  if (auto manual = dyn_cast<ManualOp>(op))
    return table
        .resolve(cast<ShardingAttr>(manual.getInShardings()[index]), rank)
        .getLayout();
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    return layoutOf(op->getResult(index));
  if (isa<YieldOp>(op)) {
    Operation *parent = op->getParentOp();
    // The condition of a loop is a scalar that all devices must know.
    auto loop = dyn_cast<WhileOp>(parent);
    if (loop && op->getParentRegion() == &loop.getCond())
      return TensorSharding::replicate(rank);
    return layoutOf(parent->getResult(index));
  }
  if (auto function = dyn_cast_or_null<FunctionOpInterface>(op->getParentOp());
      function && op->hasTrait<OpTrait::IsTerminator>()) {
    if (auto sharding =
            function.getResultAttrOfType<ShardingAttr>(index, kShardingAttr))
      return table.resolve(sharding, rank).getLayout();
    return TensorSharding::replicate(rank);
  }
  if (isa<CaseOp>(op))
    return TensorSharding::replicate(rank);
  return layoutOf(fallback);
}

std::optional<PartitionProblem::Port> PartitionProblem::getUse(OpOperand &use) {
  auto it = states.find(use.getOwner());
  if (it != states.end() && it->second.set) {
    unsigned tensor = use.getOperandNumber();
    return Port{&it->second.node, &it->second.set->layouts[tensor],
                it->second.set->ports[tensor]};
  }
  if (isa<GroupOp>(use.getOwner()))
    return std::nullopt;
  return fix(getFixedRequirement(context.table, use, use.get()));
}

void PartitionProblem::connect(Type type, Port from, Port to) {
  const CostMatrix &matrix =
      context.getMatrix(type, *from.layouts, *to.layouts);
  // Where one side has a single layout, the other pays by itself.
  if (from.layouts->size() == 1) {
    if (to.node)
      labeling.addCosts(*to.node, to.ports, matrix.values);
  } else if (to.layouts->size() == 1) {
    labeling.addCosts(*from.node, from.ports, matrix.values);
  } else {
    labeling.addEdge(*from.node, from.ports, *to.node, to.ports, matrix);
  }
}

/// Adds a value; of several users the node between them, which makes one
/// reshard count once. That is exact as long as all users can live with cuts of
/// that copy, which are free.
void PartitionProblem::addFlow(Value value) {
  if (!isa<RankedTensorType>(value.getType()))
    return;
  Flow flow{value.getType(), getProducer(value), {}, nullptr, 0};
  for (OpOperand &use : value.getUses())
    if (states.count(use.getOwner()) || isFixed(use.getOwner()))
      if (std::optional<Port> port = getUse(use))
        flow.uses.push_back(*port);
  // Use lists run backwards; plans must not depend on that.
  std::reverse(flow.uses.begin(), flow.uses.end());
  if (flow.uses.size() > 1) {
    SmallVector<const Layouts *> lists{flow.producer.layouts};
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
    connect(flow.type, flow.producer, source);
  }
  for (const Port &use : flow.uses)
    connect(flow.type, source, use);
}

double PartitionProblem::solve() {
  enumerate();
  // Nodes in the order of the data flow. Every value once: those from outside
  // first, then results in order.
  llvm::DenseSet<Value> outside;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (!states.count(operand.getDefiningOp()) &&
          outside.insert(operand).second)
        addFlow(operand);
  for (Operation *op : ops) {
    if (auto it = states.find(op); it != states.end()) {
      std::vector<double> costs;
      for (const Strategy &strategy : it->second.set->strategies)
        costs.push_back(strategy.cost);
      it->second.node = labeling.addNode(costs);
    }
    for (Value result : op->getResults())
      if (!outside.count(result))
        addFlow(result);
  }
  for (const Flow &flow : flows)
    connect(flow);
  solution = labeling.solve();
  return solution.cost;
}

TensorSharding PartitionProblem::getLayout(Value value) const {
  if (Operation *op = value.getDefiningOp()) {
    auto it = states.find(op);
    if (it != states.end()) {
      unsigned tensor =
          op->getNumOperands() + cast<OpResult>(value).getResultNumber();
      return it->second.set->strategies[solution.labels[it->second.node]]
          .tensors[tensor];
    }
  }
  const TensorSharding *sharding = context.table.lookup(value);
  return sharding ? sharding->getLayout()
                  : TensorSharding::replicate(
                        cast<RankedTensorType>(value.getType()).getRank());
}

TensorSharding PartitionProblem::getRequirement(Operation *op,
                                                unsigned index) const {
  auto it = states.find(op);
  if (it == states.end())
    return getFixedRequirement(context.table, op->getOpOperand(index),
                               op->getOperand(index));
  return it->second.set->strategies[solution.labels[it->second.node]]
      .tensors[index];
}
