// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Flow.h"

using namespace tp;

static Direction getDirections(OpClass opClass, FactorKind kind, OpStep step) {
  bool anyFactor = kind == FactorKind::PassThrough || step >= OpStep::AnyFactor;
  switch (opClass) {
  case OpClass::Elementwise:
  case OpClass::DataMovement:
    return Direction::Both;
  case OpClass::DynamicSlice:
    return step >= OpStep::PassThrough && anyFactor ? Direction::Both
                                                    : Direction::Forward;
  case OpClass::Broadcast:
    if (step == OpStep::Everything)
      return Direction::Both;
    [[fallthrough]];
  case OpClass::Other:
    if (step < OpStep::PassThrough || !anyFactor)
      return Direction::None;
    return opClass == OpClass::Broadcast ? Direction::Backward
                                         : Direction::Both;
  }
  llvm_unreachable("covered switch");
}

Direction tp::getDirections(const PropagationGraph &graph, OpId op,
                            FactorKind kind, OpStep step) {
  return ::getDirections(graph.getClass(op), kind, step) & graph.getAllowed(op);
}

bool Flow::enter(OpId id) {
  op = id;
  rule = &graph.getRule(op);
  tensors = graph.getTensors(op);
  bool any = false;
  for (ValueId value : tensors)
    for (const DimSharding &dim : graph.getSharding(value).dims)
      any |= !dim.axes.empty();
  if (!any)
    return false;
  if (projections.size() < tensors.size())
    projections.resize(tensors.size());
  for (unsigned t = 0; t < tensors.size(); ++t)
    project(*rule, t, graph.getSharding(tensors[t]), projections[t]);
  return true;
}

void Flow::refresh(ValueId value) {
  for (unsigned t = 0; t < tensors.size(); ++t)
    if (graph.getNode(tensors[t]) == graph.getNode(value))
      project(*rule, t, graph.getSharding(value), projections[t]);
}

bool Flow::isOpen(unsigned source, unsigned target,
                  Direction directions) const {
  bool fromOperand = graph.isOperand(op, source);
  bool toOperand = graph.isOperand(op, target);
  Direction needed = fromOperand == toOperand ? Direction::Both
                     : fromOperand            ? Direction::Forward
                                              : Direction::Backward;
  return (directions & needed) == needed;
}

bool Flow::isSource(unsigned source, unsigned target) const {
  if (source == target)
    return false;
  return graph.getClass(op) != OpClass::Elementwise ||
         !graph.isOperand(op, source) || !graph.isOperand(op, target);
}

Proposal Flow::propose(unsigned factor,
                       llvm::function_ref<bool(unsigned)> mayHear) const {
  Proposal proposal;
  AxisList &agreed = proposal.axes;
  bool disagree = false;
  llvm::SmallVector<unsigned, 4> heard;
  for (unsigned t = 0; t < tensors.size(); ++t) {
    const AxisList &axes = getAxes(t, factor);
    if (axes.empty() || !mayHear(t))
      continue;
    heard.push_back(t);
    if (startsWith(agreed, axes))
      continue;
    if (startsWith(axes, agreed)) {
      if (!disagree)
        agreed = axes;
      continue;
    }
    agreed = getCommonPrefix(agreed, axes);
    disagree = true;
  }
  uint64_t most = 0;
  for (unsigned t : heard) {
    uint64_t bits = graph.getBits(tensors[t]);
    if (bits > most && startsWith(getAxes(t, factor), agreed)) {
      most = bits;
      proposal.source = t;
    }
  }
  return proposal;
}
