// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The shortest-path search used by ReshardPlanner. Private to the
/// library.
///
/// # States
///
/// The axes that the two shardings use are split into **digits**, so that every
/// axis in either sharding is a run of whole digits. A state is then a list of
/// digits per dimension and a set of unreduced digits; digits that are in
/// neither are idle. One way to split the axes is a **digit system**. An axis
/// of 6 that one side divides into 2 x 3 and the other into 3 x 2 has no common
/// split, so the search may use two systems, and change systems for free where
/// a layout can be written in both.
///
/// # Bounds
///
/// The search is A*. With E elements in the tensor and N devices:
///
/// * A value without unreduced axes: a device must receive the elements that it
///   needs in the end and does not have. The number of these elements is a
///   bound, whichever device is chosen. The largest number is used; at most 64
///   devices are looked at.
/// * A value that is unreduced over g > 1 devices: to compute the sum of an
///   element on one device takes g - 1 messages, and each further device that
///   needs the sum takes one more. If each device needs n elements, that is
///   (E (g - 2) + N n) / N messages per device.
/// * A value that must be unreduced over h devices in the end: a message joins
///   at most two addends, so at least (g - h) E / N elements are sent per
///   device.
///
/// All-gather, reduce-scatter, all-to-all and all-reduce meet their bounds
/// exactly, so a plan of one step is usually found without looking at other
/// plans.
///
/// For problems with too many states there are two ways to look at fewer. A
/// greedy search is guided by the number of digits that are not yet in place,
/// which is an estimate and not a bound. A guided search looks at few
/// arrangements of the digits: for random permutations of seven digits, its
/// plans cost a fifth of the plans found by an unguided search with the same
/// number of steps.

#ifndef TPOPT_LIB_SHARDING_RESHARDSEARCH_H
#define TPOPT_LIB_SHARDING_RESHARDSEARCH_H

#include "tpopt/Sharding/Reshard.h"

#include "llvm/Support/MathExtras.h"

namespace tp::reshard {

/// The cost of a path; the members are compared in this order.
struct Cost {
  /// The price, see LinkModel.
  uint64_t ticks = 0;
  unsigned launches = 0;
  /// The number of digits that change their place. Fewer means smaller groups
  /// and fewer free steps.
  unsigned digits = 0;

  Cost operator+(const Cost &o) const {
    return {llvm::SaturatingAdd(ticks, o.ticks), launches + o.launches,
            digits + o.digits};
  }
  bool operator<(const Cost &o) const {
    return std::tie(ticks, launches, digits) <
           std::tie(o.ticks, o.launches, o.digits);
  }
};

/// One reshard to plan. Both sides are layouts.
struct Problem {
  const Mesh &mesh;
  const TensorSharding &from, &to;
  llvm::ArrayRef<int64_t> shape;
  int64_t elementBytes;
  /// If true, no step may lead to blocks with padding, and neither the source
  /// nor the target has such blocks.
  bool evenly = false;
};

/// Prices collectives in integer ticks. Without links a tick is a byte divided
/// by `scale`, a number that every group size divides; with links it is a
/// picosecond.
class LinkModel {
public:
  LinkModel(const Mesh &mesh, int64_t elementBytes, int64_t scale)
      : mesh(mesh), elementBytes(elementBytes), scale(scale) {}

  /// Devices that send to each other.
  struct Group {
    int64_t size = 1;
    unsigned numDigits = 0;
    Link slowest = {0, 0};
  };
  void extend(Group &group, const AxisRef &digit) const;
  uint64_t getTicks(CollectiveKind kind, const Group &group,
                    uint64_t payload) const;
  uint64_t getTicks(CollectiveKind kind, llvm::ArrayRef<AxisRef> axes,
                    uint64_t payload) const {
    Group group;
    for (const AxisRef &axis : axes)
      extend(group, axis);
    return getTicks(kind, group, payload);
  }
  /// A lower bound on the cost of sending `elements / scale` elements over
  /// whichever of `axes` is cheapest.
  uint64_t getBound(llvm::ArrayRef<AxisRef> axes, uint64_t elements) const;
  /// Converts ticks to seconds, or to bytes if there are no links.
  double toCost(uint64_t ticks) const;
  int64_t getScale() const { return scale; }

private:
  const Mesh &mesh;
  int64_t elementBytes, scale;
};

/// One step of a path.
struct Leg {
  CollectiveKind kind;
  TensorSharding result;
};

/// Digits, most significant first within each axis, that do not overlap.
using DigitSystem = AxisList;

/// A multiple of the size of every group of digits.
inline int64_t getScale(const DigitSystem &system) { return getSize(system); }

/// The coarsest digit systems for a problem. There is one system or, if source
/// and target cut some axis in incompatible ways, two.
llvm::SmallVector<DigitSystem, 2> getCoarseSystems(const Problem &problem);

/// Plans and estimates look at all states if there are at most this many. That
/// covers four digits in four dimensions, five in two, and two systems of four
/// digits in three dimensions.
constexpr uint64_t kFewStates = 3600;

/// The number of states for `dims` dimensions; saturates.
uint64_t countStates(llvm::ArrayRef<DigitSystem> systems, size_t dims);

inline bool areFew(llvm::ArrayRef<DigitSystem> systems, size_t dims) {
  return countStates(systems, dims) <= kFewStates;
}

/// The number of unsharded dimensions through which axes may move: two of the
/// `numSpare` that neither source nor target shards, and more if there are few
/// states.
size_t countUsefulDims(llvm::ArrayRef<DigitSystem> systems, size_t numCut,
                       size_t numSpare);

/// The dimensions in which it may pay to place digits of `system`. If all
/// blocks are even, dimensions of size 1 are left out. If some block is uneven,
/// it may pay to move digits to a dimension of size 1 temporarily.
llvm::SmallVector<unsigned, 4> getRoomyDims(llvm::ArrayRef<int64_t> shape,
                                            const DigitSystem &system);

/// The number of digits in a system for moving parts of axes. If the coarse
/// system already has this many digits, the finer one has one digit more.
constexpr size_t kFineDigits = 4;

/// Refines digit systems, for moving parts of digits. If a system has few
/// enough prime factors (see kFineDigits), it is refined to prime digits. A
/// system may have several refinements. A refinement is left out if the result
/// would then have too many states in `numDims` dimensions. So the result may
/// be empty.
llvm::SmallVector<DigitSystem, 2>
getFineSystems(llvm::ArrayRef<DigitSystem> coarse, size_t numDims);

/// A lower bound on the cost of any path, in any digit system.
Cost getBound(const Problem &problem, const LinkModel &links,
              const DigitSystem &system);

struct Path {
  std::vector<Leg> legs;
  Cost cost;
};

struct SearchOptions {
  /// The maximum number of steps to look at, at less than 1 us each; unlimited
  /// if nullopt.
  std::optional<unsigned> maxVisits;
  /// Uses an estimate of the remaining cost instead of a bound.
  bool greedy = false;
  /// Of each kind of step, tries only a few arrangements of digits, first those
  /// that move digits to their place in the goal.
  bool guided = false;
};

/// Searches for a path that is cheaper than `best`, and replaces `best` by it.
/// Returns true if no path with these digits is cheaper than the final `best`.
bool search(const Problem &problem, const LinkModel &links,
            llvm::ArrayRef<DigitSystem> systems, SearchOptions options,
            Path &best);

} // namespace tp::reshard

#endif // TPOPT_LIB_SHARDING_RESHARDSEARCH_H
