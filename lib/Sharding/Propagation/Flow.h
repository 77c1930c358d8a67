// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The view of one op during propagation: the axes that each tensor
/// proposes for a factor, and which tensors may receive them. Propagation and
/// the collection of losses share it, so that both apply the same rules.

#ifndef TPOPT_LIB_SHARDING_FLOW_H
#define TPOPT_LIB_SHARDING_FLOW_H

#include "tpopt/Sharding/Propagation.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tp {

inline Direction operator&(Direction a, Direction b) {
  return static_cast<Direction>(static_cast<uint8_t>(a) &
                                static_cast<uint8_t>(b));
}

/// The directions that `step` opens through `op` for factors of `kind`.
Direction getDirections(const PropagationGraph &graph, OpId op, FactorKind kind,
                        OpStep step);

/// The axes that the tensors of an op propose to one of them for one factor.
struct Proposal {
  /// The axes on which all proposing tensors agree, starting with the first
  /// axis.
  AxisList axes;
  /// The largest tensor that has all of `axes`.
  unsigned source = 0;
};

class Flow {
public:
  explicit Flow(const PropagationGraph &graph) : graph(graph) {}

  /// Projects the tensors of `op`. Returns whether any of them is sharded.
  bool enter(OpId op);
  /// Projects the tensors that share the sharding of `value` again.
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

  /// Returns true if `source` may propose axes to `target` in `directions`.
  bool isOpen(unsigned source, unsigned target, Direction directions) const;
  /// Returns true if `target` accepts axes from `source` in any direction.
  bool isSource(unsigned source, unsigned target) const;
  /// The axes that the sources for which `mayHear` is true propose for
  /// `factor`.
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
