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

/// The directions in which `step` may propagate axes through `op` along factors
/// of `kind`.
Direction getDirections(const PropagationGraph &graph, OpId op, FactorKind kind,
                        OpStep step);

/// The axes that the tensors of an op propose to one of them for one factor.
struct Proposal {
  /// The leading axes on which all proposing tensors agree. A tensor that has
  /// only some of these axes, from the first one on, agrees too.
  AxisList axes;
  /// The largest tensor that has all of `axes`.
  unsigned source = 0;
};

class Flow {
public:
  explicit Flow(const PropagationGraph &graph) : graph(graph) {}

  /// Computes the axes of each factor for every tensor of `op`. Returns whether
  /// any tensor is sharded.
  bool enter(OpId op);
  /// Computes the axes of each factor again for the tensors that share the
  /// sharding of `value`.
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
  /// The axes that tensors of the op propose for `factor`. Only tensors for
  /// which `mayHear` returns true propose axes.
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
