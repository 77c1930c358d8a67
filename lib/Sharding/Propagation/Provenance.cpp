// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Sharding/Provenance.h"

#include "tpopt/Sharding/Propagation.h"

using namespace tp;

llvm::StringRef tp::stringify(LossRule rule) {
  switch (rule) {
  case LossRule::LargerSource:
    return "LargerSource";
  case LossRule::MoreSharded:
    return "MoreSharded";
  case LossRule::OperandOrder:
    return "OperandOrder";
  case LossRule::Priority:
    return "Priority";
  case LossRule::DimTaken:
    return "DimTaken";
  case LossRule::AxisInUse:
    return "AxisInUse";
  case LossRule::SourcesDisagree:
    return "SourcesDisagree";
  case LossRule::Closed:
    return "Closed";
  case LossRule::Replicated:
    return "Replicated";
  case LossRule::NotDivisible:
    return "NotDivisible";
  case LossRule::Overflow:
    return "Overflow";
  case LossRule::Strided:
    return "Strided";
  case LossRule::Barrier:
    return "Barrier";
  }
  llvm_unreachable("covered switch");
}

llvm::StringRef tp::stringify(OpStep step) {
  switch (step) {
  case OpStep::SingleUse:
    return "SingleUse";
  case OpStep::MultiUse:
    return "MultiUse";
  case OpStep::PassThrough:
    return "PassThrough";
  case OpStep::AnyFactor:
    return "AnyFactor";
  case OpStep::Everything:
    return "Everything";
  }
  llvm_unreachable("covered switch");
}

void Provenance::reserve(size_t numNodes) {
  lastOfNode.assign(numNodes, none);
  // Most values get one axis, few get several.
  previous.reserve(numNodes);
  arrivals.reserve(numNodes);
}

void Provenance::add(unsigned node, const Arrival &arrival) {
  previous.push_back(lastOfNode[node]);
  lastOfNode[node] = arrivals.size();
  arrivals.push_back(arrival);
}

unsigned Provenance::find(unsigned node, const AxisRef &axis,
                          unsigned before) const {
  unsigned i = node < lastOfNode.size() ? lastOfNode[node] : none;
  while (i != none && (i >= before || !arrivals[i].axis.overlaps(axis)))
    i = previous[i];
  return i;
}

llvm::SmallVector<Arrival> Provenance::trace(const PropagationGraph &graph,
                                             ValueId value,
                                             AxisRef axis) const {
  llvm::SmallVector<Arrival> path;
  unsigned i = find(graph.getNode(value), axis, none);
  while (i != none) {
    const Arrival &arrival = arrivals[i];
    path.push_back(arrival);
    // The search goes back from arrival `i` to earlier arrivals only, so it
    // ends even if the program has a loop.
    axis = arrival.axis.getOverlap(axis).value_or(arrival.axis);
    i = find(graph.getNode(arrival.source), axis, i);
  }
  return path;
}
