// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Strategies.h"

#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Program/ShardingTable.h"
#include "tpopt/Sharding/Projection.h"

#include <algorithm>

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

static constexpr ReduceKind kAllKinds[] = {ReduceKind::Sum, ReduceKind::Max,
                                           ReduceKind::Min};

KindSet tp::getPartialKinds(Operation *op, const ShardingRule &rule,
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

/// A way for a partial value to pass: these operands are unreduced together.
struct Flow {
  ReduceKind kind;
  SmallVector<unsigned, 2> operands;
};

/// Assigns atoms to factors and flows, one after the other.
class Enumeration {
public:
  Enumeration(Operation *op, ArrayRef<AxisRef> atoms, const CostModel &cost,
              ArrayRef<KindSet> partial)
      : op(op), atoms(atoms), cost(cost),
        rule(cast<ShardingRuleOpInterface>(op).getShardingRule()) {
    collectFlows(partial);
    prepare();
  }
  /// Of an identity, which costs nothing.
  Enumeration(RankedTensorType type, ArrayRef<AxisRef> atoms,
              const CostModel &cost, KindSet kinds)
      : type(type), atoms(atoms), cost(cost) {
    RuleBuilder builder(1, 1);
    for (int64_t size : type.getShape()) {
      unsigned factor = builder.addFactor(size);
      builder.addDim(0, factor);
      builder.addDim(1, factor);
    }
    rule = builder.build();
    for (ReduceKind kind : kAllKinds)
      if (kinds & toSet(kind))
        flows.push_back({kind, {0}});
    prepare();
  }

  std::vector<Strategy> run() {
    assign(0);
    return std::move(strategies);
  }

private:
  void prepare() {
    for (auto [f, factor] : llvm::enumerate(rule.factors))
      if (factor.kind != FactorKind::Whole && factor.size > 1)
        free.push_back(f);
    contraction = isContraction(rule);
    axes.resize(rule.factors.size());
    flowAxes.resize(flows.size());
  }

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

  /// All choices for atom `i`, with what came before fixed.
  void assign(unsigned i) {
    if (i == atoms.size()) {
      emit();
      return;
    }
    assign(i + 1); // idle
    auto tryList = [&](AxisList &list) {
      AxisList saved = list;
      // Every place in the list: the order of axes on a dimension matters.
      for (unsigned at = 0; at <= saved.size(); ++at) {
        // Parts of one axis stay in order, so that they merge.
        if (llvm::any_of(llvm::drop_begin(saved, at), [&](const AxisRef &a) {
              return a.axis == atoms[i].axis;
            }))
          continue;
        list = saved;
        list.insert(list.begin() + at, atoms[i]);
        assign(i + 1);
      }
      list = saved;
    };
    for (unsigned f : free)
      tryList(axes[f]);
    for (AxisList &list : flowAxes) {
      AxisList saved = list;
      list.push_back(atoms[i]);
      assign(i + 1);
      list = saved;
    }
  }

  void emit() {
    // One kind of partial value at a time.
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
    for (auto [f, list] : llvm::enumerate(axes))
      if (rule.factors[f].kind == FactorKind::Reduction &&
          !addUnreduced(rule.factors[f].reduce, list))
        return;
    for (auto [flow, list] : llvm::zip(flows, flowAxes))
      if (!addUnreduced(flow.kind, list))
        return;

    // The layouts these axes give, if there are any.
    OpShardings shardings;
    if (getShardings(rule, axes, shardings))
      return;
    for (auto [flow, list] : llvm::zip(flows, flowAxes))
      for (unsigned operand : flow.operands) {
        shardings.operands[operand].unreduced.append(list.begin(), list.end());
        shardings.operands[operand].kind = flow.kind;
      }
    Strategy strategy;
    for (const TensorSharding &operand : shardings.operands)
      strategy.tensors.push_back(operand.getLayout());
    for (TensorSharding &result : shardings.results) {
      result.unreduced = unreduced;
      result.kind = kind.value_or(ReduceKind::Sum);
      strategy.tensors.push_back(result.getLayout());
    }
    strategy.cost = getCost(strategy, unreduced);
    strategies.push_back(std::move(strategy));
  }

  double getCost(const Strategy &strategy, ArrayRef<AxisRef> unreduced) {
    Work work;
    work.contraction = contraction;
    SmallVector<int64_t> sizes;
    double share = 1; // of a device, if padding does not count
    for (auto [factor, list] : llvm::zip(rule.factors, axes)) {
      BlockLayout blocks{factor.size, getSize(list)};
      sizes.push_back(cost.countsPadding() ? blocks.block() : factor.size);
      // Devices with nothing at all do not count where they are the most.
      if (!cost.countsPadding())
        share /= std::max<int64_t>(1, blocks.k < 2 * factor.size ? blocks.k
                                                                 : factor.size);
    }
    if (auto costed = dyn_cast_if_present<CostOpInterface>(op))
      work.flops = costed.getFlops(sizes) * share;
    auto addBytes = [&](Type of, const TensorSharding &layout) {
      ArrayRef<int64_t> shape = cast<RankedTensorType>(of).getShape();
      work.bytes +=
          getVolume(getLocalShape(layout, shape)) * getElementBytes(of);
    };
    if (op) {
      for (auto [i, operand] : llvm::enumerate(op->getOperands()))
        addBytes(operand.getType(), strategy.tensors[i]);
      for (auto [i, result] : llvm::enumerate(op->getResults()))
        addBytes(result.getType(), strategy.tensors[rule.operands.size() + i]);
    } else {
      addBytes(type, strategy.tensors[0]);
    }
    // Between equals, sum early: fewer values are partial.
    double flowing = 0;
    for (const AxisList &list : flowAxes)
      flowing += list.size();
    return cost.getCompute(work) +
           flowing * 0.1 * cost.getLaunchPenalty(work.bytes);
  }

  /// What is computed, or the type of what is handed on.
  Operation *op = nullptr;
  RankedTensorType type;
  ArrayRef<AxisRef> atoms;
  const CostModel &cost;
  std::vector<Strategy> strategies;
  ShardingRule rule;
  SmallVector<unsigned> free;
  SmallVector<Flow> flows;
  bool contraction;
  /// The choice under construction.
  SmallVector<AxisList> axes, flowAxes;
};

} // namespace

std::unique_ptr<StrategySet>
StrategyEnumerator::enumerate(Operation *op, ArrayRef<KindSet> partial) {
  auto set = std::make_unique<StrategySet>();
  set->strategies = Enumeration(op, atoms, cost, partial).run();
  unsigned tensors = op->getNumOperands() + op->getNumResults();
  set->layouts.resize(tensors);
  set->ports.resize(tensors);
  for (const Strategy &strategy : set->strategies)
    for (unsigned t = 0; t < tensors; ++t) {
      std::vector<TensorSharding> &layouts = set->layouts[t];
      auto it = llvm::find(layouts, strategy.tensors[t]);
      set->ports[t].push_back(it - layouts.begin());
      if (it == layouts.end())
        layouts.push_back(strategy.tensors[t]);
    }
  return set;
}

std::vector<Strategy> StrategyEnumerator::getIdentity(RankedTensorType type,
                                                      KindSet kinds) {
  return Enumeration(type, atoms, cost, kinds).run();
}

std::vector<const void *> tp::getStructure(Operation *op) {
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
  for (KindSet kinds : partial)
    key.push_back(reinterpret_cast<const void *>(uintptr_t(kinds)));
  std::unique_ptr<StrategySet> &set = sets[key];
  if (!set)
    set = enumerate(op, partial);
  return *set;
}
