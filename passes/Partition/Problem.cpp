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

const CostMatrix &PartitionContext::getMatrix(Type type,
                                              ArrayRef<TensorSharding> from,
                                              ArrayRef<TensorSharding> to) {
  // Layouts as attributes are unique, and so make a key.
  auto tensor = cast<RankedTensorType>(type);
  std::vector<const void *> key{type.getAsOpaquePointer()};
  for (const TensorSharding &layout : from)
    key.push_back(table.toAttr(layout).getAsOpaquePointer());
  key.push_back(nullptr);
  for (const TensorSharding &layout : to)
    key.push_back(table.toAttr(layout).getAsOpaquePointer());
  auto [it, isNew] =
      matrices.try_emplace(std::move(key), from.size(), to.size());
  if (isNew)
    for (unsigned i = 0; i < from.size(); ++i)
      for (unsigned j = 0; j < to.size(); ++j)
        it->second.at(i, j) = getReshardCost(tensor, from[i], to[j]);
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
      StrategySet &set = ownSets.emplace_back();
      set.strategies.push_back({{layout, layout}, 0});
      set.layouts = {{layout}, {layout}};
      set.ports = {{0}, {0}};
      state.set = &set;
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

PartitionProblem::Port
PartitionProblem::addFixedNode(const TensorSharding &layout) {
  static const std::vector<uint16_t> zero{0};
  ownLayouts.push_back({layout});
  return {labeling.addNode({0.0}), &ownLayouts.back(), &zero};
}

PartitionProblem::Port PartitionProblem::getProducer(Value value) {
  if (Operation *op = value.getDefiningOp()) {
    auto it = states.find(op);
    if (it != states.end() && it->second.set) {
      unsigned tensor =
          op->getNumOperands() + cast<OpResult>(value).getResultNumber();
      return {it->second.node, &it->second.set->layouts[tensor],
              &it->second.set->ports[tensor]};
    }
  }
  // From outside, or tied by data flow: as propagation left it.
  std::optional<TensorSharding> sharding = context.table.lookup(value);
  return addFixedNode(
      sharding ? sharding->getLayout()
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
    std::optional<TensorSharding> sharding = table.lookup(value);
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
    return Port{it->second.node, &it->second.set->layouts[tensor],
                &it->second.set->ports[tensor]};
  }
  if (isa<GroupOp>(use.getOwner()))
    return std::nullopt;
  return addFixedNode(getFixedRequirement(context.table, use, use.get()));
}

void PartitionProblem::connect(Type type, Port from, Port to) {
  const CostMatrix &matrix =
      context.getMatrix(type, *from.layouts, *to.layouts);
  labeling.addEdge(from.node, *from.ports, to.node, *to.ports, matrix);
}

/// Joins a value's producer with its users. With several users a node between
/// stands for the copy they share, so that one reshard is counted once. That is
/// exact as long as all users can live with cuts of that copy, which are free.
void PartitionProblem::addUses(Value value, Port producer) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    if (!isa<GroupOp>(use.getOwner()) &&
        (states.count(use.getOwner()) || isFixed(use.getOwner())))
      uses.push_back(&use);
  // Use lists run backwards; plans must not depend on that.
  std::reverse(uses.begin(), uses.end());
  if (uses.size() < 2) {
    for (OpOperand *use : uses)
      if (std::optional<Port> port = getUse(*use))
        connect(value.getType(), producer, *port);
    return;
  }
  SmallVector<Port> ports;
  std::vector<TensorSharding> &layouts = ownLayouts.emplace_back();
  auto add = [&](const std::vector<TensorSharding> &more) {
    for (const TensorSharding &layout : more)
      if (!llvm::is_contained(layouts, layout))
        layouts.push_back(layout);
  };
  add(*producer.layouts);
  for (OpOperand *use : uses)
    if (std::optional<Port> port = getUse(*use)) {
      add(*port->layouts);
      ports.push_back(*port);
    }
  std::vector<uint16_t> &identity = ownPorts.emplace_back();
  for (size_t i = 0; i < layouts.size(); ++i)
    identity.push_back(i);
  Port hub{labeling.addNode(std::vector<double>(layouts.size(), 0)), &layouts,
           &identity};
  connect(value.getType(), producer, hub);
  for (const Port &port : ports)
    connect(value.getType(), hub, port);
}

double PartitionProblem::solve() {
  enumerate();
  for (Operation *op : ops)
    if (auto it = states.find(op); it != states.end()) {
      std::vector<double> costs;
      for (const Strategy &strategy : it->second.set->strategies)
        costs.push_back(strategy.cost);
      it->second.node = labeling.addNode(costs);
    }

  // Every value once: those from outside first, then results in order.
  llvm::DenseSet<Value> seen;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()) &&
          !states.count(operand.getDefiningOp()) && seen.insert(operand).second)
        addUses(operand, getProducer(operand));
  for (Operation *op : ops)
    for (Value result : op->getResults()) {
      if (!isa<RankedTensorType>(result.getType()) ||
          !seen.insert(result).second)
        continue;
      Port producer = getProducer(result);
      if (auto it = resultLayouts.find(result); it != resultLayouts.end())
        connect(result.getType(), producer, addFixedNode(it->second));
      addUses(result, producer);
    }
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
  std::optional<TensorSharding> sharding = context.table.lookup(value);
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
