// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Where every axis came from, and why others did not arrive.
///
/// Propagation keeps two flat lists. An **Arrival** says that an axis came to a
/// dimension of a value, from which value, over which op and in which step;
/// following the sources leads back to the annotation it began with. A **Loss**
/// says that an axis stands at one end of an op and did not get to the other,
/// and what stopped it. Losses are taken at the end: what is listed is missing
/// in the result, not just late.
///
///     y = x . w     x [{"a"}, {}]   w [{}, {"a"}], larger than x
///
///     arrival   y dim 1  "a"  from w, factor j, step (0, PassThrough)
///     loss      y dim 0  "a"  from x, factor i, winner "a": LargerSource
///
/// Values and ops are the numbers that PropagationGraph gave out.

#ifndef TPOPT_SHARDING_PROVENANCE_H
#define TPOPT_SHARDING_PROVENANCE_H

#include "tpopt/Sharding/Mesh.h"

#include <vector>

namespace tp {

using ValueId = unsigned;
using OpId = unsigned;

/// The fixpoints of one user priority, in order. Each one allows what those
/// before it do, and more.
enum class OpStep : uint8_t {
  /// Element-wise ops, data movement and data flow; dynamic slices forward.
  /// Forward if all operands, backward if all results have one use.
  SingleUse,
  /// The same with any number of uses.
  MultiUse,
  /// Pass-through factors of any op; broadcasts backward only.
  PassThrough,
  /// Any factor; broadcasts backward only.
  AnyFactor,
  Everything,
};

/// When something happened: first by user priority, then by step.
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

/// Why an axis did not arrive.
enum class LossRule : uint8_t {
  // Another factor wanted the same axis at the same time, and:
  LargerSource, ///< it came from a larger tensor;
  MoreSharded,  ///< it is cut more, in an element-wise op;
  OperandOrder, ///< all else equal, it came from an earlier operand.
  // The value has other plans for the axis or the dimension:
  Priority,  ///< the winner came in an earlier step;
  DimTaken,  ///< another axis stands at this place of the dimension;
  AxisInUse, ///< the axis cuts another dimension, or is unreduced.
  // No other axis is to blame, or not in this value:
  SourcesDisagree, ///< the op's other tensors want different axes here;
  Closed,          ///< the dimension is closed;
  Replicated,      ///< the value says replicated={axis};
  NotDivisible,    ///< it does not divide one of several factors;
  Overflow,        ///< the dimension has axes that do not divide already;
  Strided,         ///< a more major factor of the dimension is not cut fully;
  Barrier,         ///< the op does not let shardings through this way.
};

/// `LargerSource` and so on.
llvm::StringRef stringify(LossRule rule);
/// `SingleUse` and so on.
llvm::StringRef stringify(OpStep step);

/// `loser` stands in `source` and did not come to dimension `dim` of `value`.
struct Loss {
  ValueId value;
  unsigned dim;
  OpId op;
  unsigned factor;
  ValueId source;
  AxisRef loser;
  /// The axis that stands in the way, where one does.
  std::optional<AxisRef> winner;
  LossRule rule;
};

class PropagationGraph;

/// The record of one propagation.
class Provenance {
public:
  /// In the order in which they happened.
  const std::vector<Arrival> &getArrivals() const { return arrivals; }
  /// In program order of their ops.
  const std::vector<Loss> &getLosses() const { return losses; }
  /// How often an op was looked at. Linear in the number of ops for programs
  /// that people write.
  uint64_t getVisits() const { return visits; }

  /// How `axis` came to `value`: the last hop first, each hop's `value` being
  /// the `source` of the one before, down to an annotated value. Empty if the
  /// annotation of `value` itself has the axis.
  llvm::SmallVector<Arrival> trace(const PropagationGraph &graph, ValueId value,
                                   AxisRef axis) const;

private:
  friend class Propagator;
  friend class LossCollector;

  static constexpr unsigned none = ~0u;

  /// Comes before the first add(): makes room for arrivals at so many nodes.
  void reserve(size_t numNodes);
  void add(unsigned node, const Arrival &arrival);
  /// The last arrival before number `before` of an axis overlapping `axis`.
  unsigned find(unsigned node, const AxisRef &axis, unsigned before) const;

  std::vector<Arrival> arrivals;
  std::vector<Loss> losses;
  uint64_t visits = 0;
  /// Arrivals of one node as lists: for each arrival the one before it.
  std::vector<unsigned> previous, lastOfNode;
};

} // namespace tp

#endif // TPOPT_SHARDING_PROVENANCE_H
