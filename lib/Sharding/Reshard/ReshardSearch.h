// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The shortest-path search behind ReshardPlanner. Private to the
/// library.
///
/// # States
///
/// The axes that the two shardings use are cut into **digits** so that every
/// axis of either is a run of whole digits. A state is then a list of digits
/// per dimension and a set of unreduced ones; what is in neither is idle. One
/// such cut is a **digit system**. An axis of 6 that one side reads as 2 x 3
/// and the other as 3 x 2 has no common cut, so the search may use two systems
/// and change over, for free, where a layout can be written in both.
///
/// # Bounds
///
/// The search is A*. With E elements in the tensor and N devices:
///
/// * A value without unreduced axes: a device must receive what it needs in the
///   end and does not have. The largest such number over any choice of devices
///   is a bound; up to 64 devices are looked at.
/// * A value that is unreduced over g > 1 devices: for one element of which c
///   devices need the sum, g - 1 messages must have been sent before the first
///   device can know the sum, and each of the other c - 1 needs one more. Over
///   all elements and devices that is (E (g - 2) + N * needed) / N per device.
/// * A value that is to be unreduced over h devices in the end: a message
///   joins two addends at best, so (g - h) E / N per device.
///
/// All-gather, reduce-scatter, all-to-all and all-reduce meet their bounds
/// exactly, so a plan of one step is mostly found without looking at any other.
///
/// For problems with too many states there are two ways to look at fewer. A
/// greedy search follows the number of digits that are not yet in place, a
/// guess and not a bound. A guided one looks at few arrangements of the digits:
/// where seven digits change places at random, its plans cost a fifth of what
/// as many steps of all kinds lead to.

#ifndef TPOPT_LIB_SHARDING_RESHARDSEARCH_H
#define TPOPT_LIB_SHARDING_RESHARDSEARCH_H

#include "tpopt/Sharding/Reshard.h"

#include "llvm/Support/MathExtras.h"

namespace tp::reshard {

/// What a path costs, compared in this order.
struct Cost {
  /// See LinkModel.
  uint64_t ticks = 0;
  unsigned launches = 0;
  /// Digits that change their place: small groups and few free steps.
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

/// One question to the search. Both sides are layouts.
struct Problem {
  const Mesh &mesh;
  const TensorSharding &from, &to;
  llvm::ArrayRef<int64_t> shape;
  int64_t elementBytes;
  /// No step may lead to blocks with padding. Neither side has any.
  bool evenly = false;
};

/// Prices collectives in integer ticks: without links bytes times `scale`, a
/// number that every group size divides; with links picoseconds.
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
  /// The least for sending `elements` / scale elements over any of `axes`.
  uint64_t getBound(llvm::ArrayRef<AxisRef> axes, uint64_t elements) const;
  /// Seconds, or bytes.
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

/// A number that the size of every group of digits divides.
inline int64_t getScale(const DigitSystem &system) { return getSize(system); }

/// The coarsest digit systems for a problem: one, or two if the sides cut some
/// axis in ways that do not fit.
llvm::SmallVector<DigitSystem, 2> getCoarseSystems(const Problem &problem);

/// So many states are few: all of them are looked at, by plans and estimates.
/// Four digits in four dimensions have fewer, five in two, and those of two
/// systems of four in three.
constexpr uint64_t kFewStates = 3600;

/// How many states there are of `dims` dimensions, at most the largest number.
uint64_t countStates(llvm::ArrayRef<DigitSystem> systems, size_t dims);

inline bool areFew(llvm::ArrayRef<DigitSystem> systems, size_t dims) {
  return countStates(systems, dims) <= kFewStates;
}

/// Through how many of the `numSpare` dimensions that neither side cuts axes
/// may move: two, and more where the states are few.
size_t countUsefulDims(llvm::ArrayRef<DigitSystem> systems, size_t numCut,
                       size_t numSpare);

/// The dimensions that digits of `system` may be of use in. Among dimensions
/// that are all cut evenly, one of a single element is not; where blocks are
/// uneven, it can take what stands in the way.
llvm::SmallVector<unsigned, 4> getRoomyDims(llvm::ArrayRef<int64_t> shape,
                                            const DigitSystem &system);

/// Axes are cut into so many digits to trade their parts, or one more than they
/// have.
constexpr size_t kFineDigits = 4;

/// Finer systems, for trading a part of an axis. Prime digits where these are
/// no more than kFineDigits, else some of the ways to cut axes, as many as have
/// few states in `numDims` dimensions: perhaps none.
llvm::SmallVector<DigitSystem, 2>
getFineSystems(llvm::ArrayRef<DigitSystem> coarse, size_t numDims);

/// A lower bound for any path, whatever the digits.
Cost getBound(const Problem &problem, const LinkModel &links,
              const DigitSystem &system);

struct Path {
  std::vector<Leg> legs;
  Cost cost;
};

struct SearchOptions {
  /// Steps looked at, at most; less than 1 us each. None: all.
  std::optional<unsigned> maxVisits;
  /// Follows a guess of what is missing, not a bound.
  bool greedy = false;
  /// Of the ways to arrange digits, looks at a few of each kind, those first
  /// that bring digits where they are wanted.
  bool guided = false;
};

/// Searches for a path that is cheaper than `best`, which it replaces. Returns
/// whether there is no cheaper one with these digits.
bool search(const Problem &problem, const LinkModel &links,
            llvm::ArrayRef<DigitSystem> systems, SearchOptions options,
            Path &best);

} // namespace tp::reshard

#endif // TPOPT_LIB_SHARDING_RESHARDSEARCH_H
