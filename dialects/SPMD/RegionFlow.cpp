// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How values flow through ops with regions.

#include "tpopt/Dialect/SPMD/RegionFlow.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

#include "tpopt/Dialect/SPMD/RegionFlow.cpp.inc"

OpOperand *RegionFlowOpInterface::getDecision() {
  if (Region *condition = getCondition())
    return &condition->front().getTerminator()->getOpOperand(0);
  return getBranchIndex();
}

/// The index of the first channel that ends in a result of `op`: the channel of
/// result 0.
static unsigned getFirstLeaving(RegionFlowOpInterface op) {
  return op.isLoop() ? 0 : op.getEntries().size();
}

/// The number of arguments of `region` that precede the entering values.
static unsigned getNumCounters(RegionFlowOpInterface op, Region &region) {
  return region.getNumArguments() - op.getEntries().size();
}

SmallVector<OpOperand *> Channel::getSources() {
  SmallVector<OpOperand *> sources;
  if (index < op.getEntries().size())
    sources.push_back(&op.getEntries()[index]);
  unsigned first = getFirstLeaving(op);
  for (Region &region : op->getRegions())
    if (index >= first && &region != op.getCondition())
      sources.push_back(
          &region.front().getTerminator()->getOpOperand(index - first));
  return sources;
}

SmallVector<Value> Channel::getTargets() {
  SmallVector<Value> targets;
  if (unsigned first = getFirstLeaving(op); index >= first)
    targets.push_back(op->getResult(index - first));
  for (Region &region : op->getRegions())
    if (index < op.getEntries().size())
      targets.push_back(region.getArgument(getNumCounters(op, region) + index));
  return targets;
}

SmallVector<Channel> spmd::getChannels(RegionFlowOpInterface op) {
  unsigned count = getFirstLeaving(op) + op->getNumResults();
  return llvm::map_to_vector(llvm::seq(count),
                             [&](unsigned i) { return Channel{op, i}; });
}

std::optional<Channel> spmd::getChannel(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto op = dyn_cast<RegionFlowOpInterface>(result.getOwner());
    if (!op)
      return std::nullopt;
    return Channel{op, getFirstLeaving(op) + result.getResultNumber()};
  }
  auto argument = cast<BlockArgument>(value);
  Region *region = argument.getOwner()->getParent();
  auto op = dyn_cast_if_present<RegionFlowOpInterface>(
      region ? region->getParentOp() : nullptr);
  if (!op || argument.getArgNumber() < getNumCounters(op, *region))
    return std::nullopt;
  return Channel{op, argument.getArgNumber() - getNumCounters(op, *region)};
}

std::optional<Channel> spmd::getChannel(OpOperand &use) {
  Operation *owner = use.getOwner();
  if (auto op = dyn_cast<RegionFlowOpInterface>(owner)) {
    MutableArrayRef<OpOperand> entries = op.getEntries();
    if (&use < entries.begin() || &use >= entries.end())
      return std::nullopt;
    return Channel{op, unsigned(&use - entries.begin())};
  }
  if (!owner->hasTrait<OpTrait::IsTerminator>())
    return std::nullopt;
  auto op = dyn_cast_if_present<RegionFlowOpInterface>(owner->getParentOp());
  if (!op || owner->getParentRegion() == op.getCondition())
    return std::nullopt;
  return Channel{op, getFirstLeaving(op) + use.getOperandNumber()};
}

bool spmd::isDecision(OpOperand &use) {
  Operation *owner = use.getOwner();
  auto op = dyn_cast_if_present<RegionFlowOpInterface>(
      owner->hasTrait<OpTrait::IsTerminator>() ? owner->getParentOp() : owner);
  return op && op.getDecision() == &use;
}

bool spmd::isCounter(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto op = dyn_cast_if_present<RegionFlowOpInterface>(
      argument ? argument.getOwner()->getParentOp() : nullptr);
  return op && op.getCounter() == value;
}
