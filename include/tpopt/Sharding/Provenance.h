// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Where each axis came from, and why other axes did not propagate.
///
/// Propagation keeps two flat lists. An **Arrival** records that an axis came
/// to a dimension of a value, and from which value, through which op and in
/// which step. Following the sources leads back to the original annotation. A
/// **Loss** records that one tensor of an op has an axis that did not propagate
/// to another, and why. Losses are collected at the end, so each axis listed is
/// missing in the final result.
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

/// The steps within one user priority, in order. Each runs until nothing
/// changes, and allows everything that the previous steps allow, and more.
enum class OpStep : uint8_t {
  /// Element-wise ops, data movement and data flow; dynamic slices only
  /// forward. Goes forward if all operands have one use, backward if all
  /// results have one use.
  SingleUse,
  /// The same with any number of uses.
  MultiUse,
  /// Pass-through factors of any op; broadcasts only backward.
  PassThrough,
  /// Any factor; broadcasts only backward.
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
  // Another factor could have taken the same axis at the same time, and:
  LargerSource, ///< it came from a larger tensor;
  MoreSharded,  ///< it is split into more pieces, in an element-wise op;
  OperandOrder, ///< otherwise equal, it came from an earlier operand.
  // The value already uses the axis or the dimension in a different way:
  Priority,  ///< the winner was propagated in an earlier step;
  DimTaken,  ///< the dimension has another axis at this position;
  AxisInUse, ///< the axis is used by another dimension, or is unreduced.
  // The cause is not another axis, or not in this value:
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

/// `source` has the axis `loser`, which did not come to dimension `dim` of
/// `value`.
struct Loss {
  ValueId value;
  unsigned dim;
  OpId op;
  unsigned factor;
  ValueId source;
  AxisRef loser;
  /// The axis that was in the way, if one was.
  std::optional<AxisRef> winner;
  LossRule rule;
};

class PropagationGraph;

/// The record of one propagation.
class Provenance {
public:
  /// In the order in which they occurred.
  const std::vector<Arrival> &getArrivals() const { return arrivals; }
  /// In program order of the ops.
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

  /// Reserves memory for arrivals at this many nodes. Must be called before the
  /// first add().
  void reserve(size_t numNodes);
  void add(unsigned node, const Arrival &arrival);
  /// The last arrival before number `before` of an axis that overlaps `axis`.
  unsigned find(unsigned node, const AxisRef &axis, unsigned before) const;

  std::vector<Arrival> arrivals;
  std::vector<Loss> losses;
  uint64_t visits = 0;
  /// Linked lists of the arrivals at each node: for each arrival, the previous
  /// one.
  std::vector<unsigned> previous, lastOfNode;
};

} // namespace tp

#endif // TPOPT_SHARDING_PROVENANCE_H
