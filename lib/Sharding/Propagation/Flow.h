// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file One op while shardings flow through it: what its tensors say about a
/// factor, and which of them may be heard. Shared by propagation and by the
/// collection of losses, so that both mean the same.

#ifndef TPOPT_LIB_SHARDING_FLOW_H
#define TPOPT_LIB_SHARDING_FLOW_H

#include "tpopt/Sharding/Propagation.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tp {

inline Direction operator&(Direction a, Direction b) {
  return static_cast<Direction>(static_cast<uint8_t>(a) &
                                static_cast<uint8_t>(b));
}

/// The ways that `step` opens through `op` for factors of `kind`.
Direction getDirections(const PropagationGraph &graph, OpId op, FactorKind kind,
                        OpStep step);

/// What the tensors of an op say about one factor to one of them.
struct Proposal {
  /// The axes that all who speak agree on, from the first one.
  AxisList axes;
  /// The largest tensor that has them all.
  unsigned source = 0;
};

class Flow {
public:
  explicit Flow(const PropagationGraph &graph) : graph(graph) {}

  /// Projects the tensors of `op`. Returns whether any has an axis at all.
  bool enter(OpId op);
  /// Projects again what has the sharding of `value`.
  void refresh(ValueId value);

  OpId getOp() const { return op; }
  const ShardingRule &getRule() const { return *rule; }
  llvm::ArrayRef<ValueId> getTensors() const { return tensors; }
  const TensorProjection &getProjection(unsigned tensor) const {
    return projections[tensor];
  }
  const AxisList &getAxes(unsigned tensor, unsigned factor) const {
    return projections[tensor][factor].axes;
  }

  /// Whether `source` may speak to `target` where `directions` are open.
  bool isOpen(unsigned source, unsigned target, Direction directions) const;
  /// Whether `source` is one that `target` listens to at all.
  bool isSource(unsigned source, unsigned target) const;
  /// What those that satisfy `mayHear` say about `factor`.
  Proposal propose(unsigned factor,
                   llvm::function_ref<bool(unsigned)> mayHear) const;

private:
  const PropagationGraph &graph;
  OpId op = 0;
  const ShardingRule *rule = nullptr;
  llvm::ArrayRef<ValueId> tensors;
  llvm::SmallVector<TensorProjection, 4> projections;
};

} // namespace tp

#endif // TPOPT_LIB_SHARDING_FLOW_H
