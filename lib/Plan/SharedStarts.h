// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Predicts which reshards will share a launch, so that each pays only a part of
// the launch's start-up cost.

#ifndef TPOPT_PLAN_SHAREDSTARTS_H
#define TPOPT_PLAN_SHAREDSTARTS_H

#include "PlanGraph.h"

namespace tp::plan {

/// The launches of a value's reshards, before any are combined.
struct Launches {
  double sums = 0, gathers = 0;
};

/// The share of a launch's start-up cost (a *start*) that the reshards of each
/// value pay. Collectives whose results are not needed immediately are combined
/// later (tp-combine-collectives), up to `bucketBytes` per launch. They are of
/// two kinds:
///
/// * Gathers of arguments that products need, and of values computed from
///   arguments by simple ops: weights in FSDP.
/// * Sums from which only results of the program are computed, by ops that can
///   be postponed as well: gradients, and the loss.
///
/// If a block has n values of one kind and element type, each value pays 1/n of
/// a start or, if that is more, the fraction of a bucket that the value fills.
/// With buckets of 25 MiB:
///
///     100 gradients of 1 MiB    0.04 of a start each, 4 launches
///       1 gradient of 1 MiB     a whole start
///
/// Other collectives pay a whole start each: those that a product waits for,
/// those in loops, and gathers of updated weights. Gathers of updated weights
/// get no discount, because the ops of an update are priced one by one, which
/// overstates the benefit of sharding it.
///
/// Before there is a plan, n counts all values that may have a reshard. For a
/// plan, `recount` counts those that have one.
class SharedStarts {
public:
  SharedStarts(const PlanGraph &graph, const ProgramView &view,
               const LayoutPool &pool, int64_t bucketBytes);

  /// Sets the shares of the values of `graph`, which must be the graph given to
  /// the constructor, or one with the same values.
  void setShares(PlanGraph &graph) const;

  /// Counts the values that have launches. `launches` has one entry per value
  /// of the graph.
  void recount(llvm::ArrayRef<Launches> launches);

  /// The number of starts that are saved by combining these launches.
  double getSaved(llvm::ArrayRef<Launches> launches) const;

private:
  class Finder;
  /// What is known about the reshards of a value.
  struct Kind {
    bool isGathered = false; ///< Its gathers share launches.
    bool isSummed = false;   ///< Its sums share launches.
    unsigned company = 0;    ///< See Finder::Company.
    double ofBucket = 0;     ///< Its bytes, as a share of a bucket.
  };
  struct Counts {
    unsigned gathers = 0, sums = 0;
  };
  StartShares getShares(const Kind &kind) const;

  std::vector<Kind> kinds;    ///< Indexed by value.
  std::vector<Counts> counts; ///< Indexed by company.
};

} // namespace tp::plan

#endif // TPOPT_PLAN_SHAREDSTARTS_H
