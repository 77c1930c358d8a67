// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Sharding/Propagation.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tp;
using llvm::ArrayRef;

ValueId PropagationGraph::addValue(ArrayRef<int64_t> shape,
                                   unsigned elementBits,
                                   const TensorSharding &sharding,
                                   std::optional<unsigned> name) {
  uint64_t bits = elementBits;
  for (int64_t size : shape)
    bits = llvm::SaturatingMultiply(bits, static_cast<uint64_t>(size));
  ValueId id = values.size();
  values.push_back({static_cast<unsigned>(nodes.size()),
                    llvm::SmallVector<int64_t, 4>(shape), bits, name});
  auto found = shardings.find(sharding);
  nodes.push_back(
      {found != shardings.end() ? &*found : intern(sharding), {id}});
  return id;
}

const TensorSharding *PropagationGraph::append(const TensorSharding *from,
                                               unsigned dim,
                                               const AxisRef &axis) {
  auto &answers = appended[{from, dim}];
  for (auto &[known, answer] : answers)
    if (known == axis)
      return answer;
  TensorSharding longer = *from;
  appendMerged(longer.dims[dim].axes, axis);
  answers.push_back({axis, intern(std::move(longer))});
  return answers.back().second;
}

OpId PropagationGraph::addOp(const ShardingRule *rule,
                             ArrayRef<ValueId> operands,
                             ArrayRef<ValueId> results, OpClass opClass,
                             Direction allowed) {
  Op op{rule, {}, static_cast<unsigned>(operands.size()), opClass, allowed};
  op.tensors.append(operands.begin(), operands.end());
  op.tensors.append(results.begin(), results.end());
  ops.push_back(std::move(op));
  return ops.size() - 1;
}

std::optional<GraphError>
PropagationGraph::addDataFlow(ArrayRef<ValueId> sources,
                              ArrayRef<ValueId> targets) {
  if (targets.empty())
    return std::nullopt;
  if (auto error = addShardingGroup(targets))
    return error;
  ownedRules.push_back(std::make_unique<ShardingRule>(
      makeElementwiseRule(sources.size(), getShape(targets[0]))));
  addOp(ownedRules.back().get(), sources, targets[0], OpClass::Elementwise);
  return std::nullopt;
}

std::optional<GraphError>
PropagationGraph::addShardingGroup(ArrayRef<ValueId> members) {
  if (members.empty())
    return std::nullopt;
  unsigned first = members[0];
  for (ValueId member : members)
    if (values[member].node < values[first].node)
      first = member;
  unsigned rank = getSharding(first).getRank();
  TensorSharding open = TensorSharding::replicate(rank, /*open=*/true);
  // Check everything before modifying anything.
  TensorSharding common = open;
  for (ValueId member : members) {
    const TensorSharding &sharding = getSharding(member);
    if (sharding.getRank() != rank)
      return GraphError{
          ErrorCode::SharedShardingMismatch,
          "the sharding has " + std::to_string(sharding.getRank()) +
              " dimensions, but a value that shares this sharding has " +
              std::to_string(rank),
          std::nullopt, member};
    if (sharding == open)
      continue;
    if (common != open && sharding != common)
      return GraphError{ErrorCode::SharedShardingMismatch,
                        "this value and another one share one sharding, but "
                        "their annotations differ",
                        std::nullopt, member};
    common = sharding;
  }
  unsigned target = values[first].node;
  nodes[target].sharding = intern(std::move(common));
  for (ValueId member : members) {
    unsigned node = values[member].node;
    if (node == target)
      continue;
    for (ValueId value : nodes[node].values) {
      values[value].node = target;
      nodes[target].values.push_back(value);
    }
    nodes[node].values.clear();
  }
  return std::nullopt;
}

std::optional<GraphError> PropagationGraph::verify(const Mesh &mesh) const {
  llvm::DenseSet<const TensorSharding *> seen;
  for (const Node &node : nodes) {
    if (node.values.empty())
      continue;
    unsigned rank = getShape(node.values[0]).size();
    if (!seen.insert(node.sharding).second && node.sharding->getRank() == rank)
      continue;
    auto error = [&](ErrorCode code, std::string message) {
      return GraphError{code, std::move(message), std::nullopt, node.values[0]};
    };
    const TensorSharding &sharding = *node.sharding;
    auto isUnknown = [&](const AxisRef &axis) {
      return axis.axis >= mesh.axes.size();
    };
    if (llvm::any_of(sharding.getDimAxes(), isUnknown) ||
        llvm::any_of(sharding.replicated, isUnknown) ||
        llvm::any_of(sharding.unreduced, isUnknown))
      return error(ErrorCode::UnknownAxis,
                   "the sharding names an axis that the mesh does not have");
    if (auto bad = tp::verify(sharding, mesh, rank))
      return error(bad->code, std::move(bad->message));
  }
  for (auto [id, op] : llvm::enumerate(ops)) {
    auto error = [id = id](std::string message) {
      return GraphError{ErrorCode::BadRuleUse, std::move(message),
                        static_cast<OpId>(id), std::nullopt};
    };
    const ShardingRule &rule = *op.rule;
    if (rule.operands.size() != op.numOperands ||
        rule.getNumTensors() != op.tensors.size())
      return error("the rule is for " + std::to_string(rule.operands.size()) +
                   " operands and " + std::to_string(rule.results.size()) +
                   " results, but the op has " +
                   std::to_string(op.numOperands) + " and " +
                   std::to_string(op.tensors.size() - op.numOperands));
    for (ValueId value : op.tensors)
      if (value >= values.size())
        return error("the op uses value number " + std::to_string(value) +
                     ", but there are only " + std::to_string(values.size()) +
                     " values");
    for (auto [t, value] : llvm::enumerate(op.tensors)) {
      const TensorFactors &dims = rule.getTensor(t);
      if (dims.size() != getSharding(value).getRank())
        return error("the rule has " + std::to_string(dims.size()) +
                     " dimensions for tensor number " + std::to_string(t) +
                     ", which has rank " +
                     std::to_string(getSharding(value).getRank()));
      for (const DimFactors &dim : dims)
        for (unsigned f : dim)
          if (f >= rule.factors.size())
            return error("the rule uses factor number " + std::to_string(f) +
                         ", but it has only " +
                         std::to_string(rule.factors.size()) + " factors");
    }
  }
  return std::nullopt;
}
