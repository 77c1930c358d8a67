// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Where each axis came from, and why other axes did not propagate.
///
/// Propagation keeps two flat lists. An **Arrival** records that an axis came
/// to a dimension of a value, and from which value, through which op and in
/// which step. Following the sources leads back to the original annotation. A
/// **Loss** records that an axis of one tensor of an op did not propagate to
/// another tensor of the op, and why. Losses are collected at the end, so each
/// axis listed is missing in the final result.
///
///     y = x . w     x [{"a"}, {}]   w [{}, {"a"}], larger than x
///
///     arrival   y dim 1  "a"  from w, factor j, step (0, PassThrough)
///     loss      y dim 0  "a"  from x, factor i, winner "a": LargerSource
///
/// Values and ops are numbered as in the PropagationGraph.

#ifndef TPOPT_SHARDING_PROVENANCE_H
#define TPOPT_SHARDING_PROVENANCE_H

#include "tpopt/Sharding/Mesh.h"

#include <vector>

namespace tp {

using ValueId = unsigned;
using OpId = unsigned;

/// The steps of propagation within one user priority, in order. Each step runs
/// until no sharding changes. Each step propagates wherever the steps before it
/// do, and in more cases.
enum class OpStep : uint8_t {
  /// Propagates through element-wise ops, data movement and data flow, and
  /// forward through dynamic slices. Propagates forward only if all operands
  /// have a single use, backward only if all results have a single use.
  SingleUse,
  /// Like SingleUse, but values may have any number of uses.
  MultiUse,
  /// In addition, propagates along the pass-through factors of all ops.
  /// Broadcasts propagate only backward.
  PassThrough,
  /// In addition, propagates along all other factors. Broadcasts still
  /// propagate only backward.
  AnyFactor,
  Everything,
};

/// The time of an event, ordered by user priority and then by step.
struct Step {
  int64_t priority = 0;
  OpStep op = OpStep::SingleUse;

  bool operator==(const Step &o) const {
    return priority == o.priority && op == o.op;
  }
  bool operator<(const Step &o) const {
    return priority != o.priority ? priority < o.priority : op < o.op;
  }
};

/// `axis` came to dimension `dim` of `value` from `source`.
struct Arrival {
  ValueId value;
  unsigned dim;
  AxisRef axis;
  OpId op;
  unsigned factor;
  Step step;
  ValueId source;
};

/// Why an axis did not propagate.
enum class LossRule : uint8_t {
  // Two factors competed for the same axis at the same time. The winner was
  // chosen for this reason:
  LargerSource, ///< it came from a larger tensor;
  MoreSharded,  ///< it is split into more pieces, in an element-wise op;
  OperandOrder, ///< otherwise equal, it came from an earlier operand.
  // The value already uses the axis or the dimension differently:
  Priority,  ///< the winner was propagated in an earlier step;
  DimTaken,  ///< the dimension has another axis at this position;
  AxisInUse, ///< the axis is used by another dimension, or is unreduced.
  // Other causes:
  SourcesDisagree, ///< the op's other tensors have different axes here;
  Closed,          ///< the dimension is closed;
  Replicated,      ///< the value says replicated={axis};
  NotDivisible,    ///< its size does not divide that of one of several factors;
  Overflow,        ///< the dimension already has axes that do not divide;
  Strided,         ///< a more major factor of the dimension is not fully split;
  Barrier,         ///< the op does not propagate in this direction.
};

/// For example, `LargerSource`.
llvm::StringRef stringify(LossRule rule);
/// For example, `SingleUse`.
llvm::StringRef stringify(OpStep step);

/// Records that tensor `source` of an op has the axis `loser`, but the axis did
/// not propagate to dimension `dim` of tensor `value`.
struct Loss {
  ValueId value;
  unsigned dim;
  OpId op;
  unsigned factor;
  ValueId source;
  AxisRef loser;
  /// The axis that prevented the propagation of `loser`; none if the loss has
  /// another cause.
  std::optional<AxisRef> winner;
  LossRule rule;
};

class PropagationGraph;

/// The record of one propagation.
class Provenance {
public:
  /// The arrivals, in the order in which they occurred.
  const std::vector<Arrival> &getArrivals() const { return arrivals; }
  /// The losses, in the program order of their ops.
  const std::vector<Loss> &getLosses() const { return losses; }
  /// How many times an op was visited. Linear in the number of ops for
  /// realistic programs.
  uint64_t getVisits() const { return visits; }

  /// The path by which `axis` came to `value`, with the last hop first. The
  /// `value` of each hop is the `source` of the hop before it in the list; the
  /// last hop's `source` is an annotated value. Empty if the annotation of
  /// `value` itself has the axis.
  llvm::SmallVector<Arrival> trace(const PropagationGraph &graph, ValueId value,
                                   AxisRef axis) const;

private:
  friend class Propagator;
  friend class LossCollector;

  static constexpr unsigned none = ~0u;

  /// Reserves memory for the arrivals at `numNodes` nodes of the graph. Must be
  /// called before the first add().
  void reserve(size_t numNodes);
  void add(unsigned node, const Arrival &arrival);
  /// Finds the arrivals at `node` that have a number below `before` and an axis
  /// that overlaps `axis`. Returns the number of the last of them, or `none`.
  unsigned find(unsigned node, const AxisRef &axis, unsigned before) const;

  std::vector<Arrival> arrivals;
  std::vector<Loss> losses;
  uint64_t visits = 0;
  /// For each node, a linked list of its arrivals: `lastOfNode` has the number
  /// of the last arrival at each node, and `previous` has, for each arrival,
  /// the number of the arrival before it at the same node.
  std::vector<unsigned> previous, lastOfNode;
};

} // namespace tp

#endif // TPOPT_SHARDING_PROVENANCE_H
