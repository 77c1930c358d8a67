// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds the reshards that have slack: their operands are available early, or
// their results are needed late. Such reshards cost less than others, because
// they can share a launch and run during computation.

#ifndef TPOPT_PLAN_SLACK_H
#define TPOPT_PLAN_SLACK_H

#include "PlanGraph.h"

namespace tp::plan {

/// The price of a value's reshards from partial sums, and of its others. All
/// launches pay their whole start-up cost.
struct ReshardsPrice {
  cost::Price sums, gathers;
};

/// The parts of their prices that reshards with slack pay. There are two kinds
/// of them:
///
/// * Gathers of arguments that products need, and of values computed from
///   arguments by simple ops: weights in FSDP. In a loop: those of one layer.
/// * Sums from which only results of the program are computed, by ops that can
///   be postponed as well: gradients, and the loss. In a loop: sums that the
///   loop adds up, or writes into a stack of all layers.
///
/// **Starts.** Collectives whose results are not needed immediately are
/// combined later (tp-combine-collectives), up to `bucketBytes` per launch. If
/// a block has n values of one kind and element type, each value pays 1/n of a
/// launch's start-up cost (a *start*) or, if that is more, the fraction of a
/// bucket that the value fills. With buckets of 25 MiB:
///
///     100 gradients of 1 MiB    0.04 of a start each, 4 launches
///       1 gradient of 1 MiB     a whole start
///
/// Behind a slow link, a launch holds less than a bucket
/// (tp-combine-collectives). That is not counted, since it costs at most a 16th
/// of what is sent.
///
/// Other collectives pay a whole start each: those that a product waits for,
/// those in loops, and gathers of updated weights. Gathers of updated weights
/// get no discount, because the ops of an update are priced one by one, which
/// overstates the benefit of sharding it.
///
/// Before there is a plan, n counts all values that may have a reshard. For a
/// plan, `recount` counts those that have one.
///
/// **Overlap.** If collectives are scheduled to run during computation
/// (tp-schedule), the step waits for a reshard with slack only while there is
/// nothing left to compute. Such a reshard pays the fraction `setExposed` of
/// its cost.
class Slack {
public:
  Slack(const PlanGraph &graph, const ProgramView &view, const LayoutPool &pool,
        int64_t bucketBytes);

  /// Sets the fraction of its cost that a reshard with slack pays; 1 at first.
  void setExposed(double fraction) { exposed = fraction; }

  /// Sets the shares of the values of `graph`, which must be the graph given to
  /// the constructor, or one with the same values.
  void setShares(PlanGraph &graph) const;

  /// Counts the values that have launches. `prices` has one entry per value of
  /// the graph.
  void recount(llvm::ArrayRef<ReshardsPrice> prices);

  /// The number of starts that are saved by combining the launches of `prices`.
  double getSavedStarts(llvm::ArrayRef<ReshardsPrice> prices) const;

  bool hasGathersWithSlack(unsigned value) const {
    return kinds[value].isGathered;
  }
  bool hasSumsWithSlack(unsigned value) const { return kinds[value].isSummed; }
  /// The value where the partial sum `value` begins. Only ops that can be
  /// postponed lie between the two. If it begins at several values, returns the
  /// last one.
  unsigned getSumSource(unsigned value) const { return kinds[value].sumSource; }
  /// The shares of a value; not all reshards have slack.
  ReshardShares getShares(unsigned value) const {
    return getShares(kinds[value]);
  }

private:
  class Finder;
  /// What is known about the reshards of a value.
  struct Kind {
    bool isGathered = false; ///< Its gathers have slack.
    bool isSummed = false;   ///< Its sums have slack.
    bool isInLoop = false;
    unsigned sumSource = 0; ///< See getSumSource.
    unsigned company = 0;   ///< See Finder::Company.
    double ofBucket = 0;    ///< Its bytes, as a share of a bucket.
  };
  struct Counts {
    unsigned gathers = 0, sums = 0;
  };
  PriceShares getShares(const Kind &kind, unsigned values) const;
  ReshardShares getShares(const Kind &kind) const;

  std::vector<Kind> kinds;    ///< Indexed by value.
  std::vector<Counts> counts; ///< Indexed by company.
  double exposed = 1;
};

} // namespace tp::plan

#endif // TPOPT_PLAN_SLACK_H
