// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The planner chooses the layout of every value of a program, and prices
/// any other choice.
///
///     Planner planner(function, table, cost);
///     planner.choose();                  // nothing has changed yet
///     planner.getCost().price.cost;      // seconds, or bytes
///     planner.getLayout(value);          // the layout in which an op makes it
///     planner.getReshards(value);        // additional layouts for its users
///
/// Rewrites are part of the choice:
/// * an op that needs a sharded dimension whole may be replaced by its
///   decomposition;
/// * slices, pads and concatenations along a sharded dimension may be replaced
///   by splices;
/// * a splice along an unsharded dimension may be replaced by a slice and a
///   pad, if the slice leaves less to send.
/// Plans with and without these rewrites are compared on a view of the program;
/// `commit` then applies the chosen rewrites.
///
/// **A plan can be priced again** after one of its layouts has changed, in time
/// that grows with the uses of that value:
///
///     planner.select(argument, layout);
///     planner.getCost().peakBytes;
///
/// The cost equals the one that `getPrice` (lib/Cost) gives for the rewritten
/// program.

#ifndef TPOPT_PLAN_PLANNER_H
#define TPOPT_PLAN_PLANNER_H

#include "dialects/TP/ShardingTable.h"
#include "lib/Cost/OpCost.h"

#include <memory>

namespace tp {

struct PlannerOptions {
  /// Also choose the layouts of arguments and results that no annotation has
  /// closed. Otherwise they keep the layouts that propagation gave them.
  bool freeArguments = false;
  /// Allows every axis of the mesh to shard tensors. If false, only axes that
  /// occur in an annotation may, because the user has not asked for the others.
  bool allAxes = false;
  /// The bytes that a device may hold; 0 if unknown. A plan that needs more is
  /// replaced by a cheap one that fits, or at least needs less.
  int64_t capacity = 0;
  /// The maximum payload of a launch that combines several collectives, so that
  /// they share its start-up cost; 0 if collectives are not combined.
  int64_t bucketBytes = 0;
  /// Collectives will be scheduled to run during computation. If the machine is
  /// known, the plan with the shortest step is chosen, even if it sends more.
  bool overlap = false;
};

/// The cost of one call of the program on one device.
struct PlanCost {
  cost::Price price; ///< The price of all ops and reshards.
  /// The bytes of arguments that are kept between calls.
  int64_t persistentBytes = 0;
  /// The peak memory of all values except arguments that are kept between
  /// calls, in bytes.
  int64_t peakBytes = 0;

  int64_t getHeldBytes() const { return persistentBytes + peakBytes; }
};

class Planner {
public:
  /// Plans a function, or the body of a manual region along its free axes.
  /// Nested manual regions are planned separately. Each op must have a sharding
  /// rule, implement RegionFlowOpInterface, or end a region. Table and cost
  /// model must outlive the planner.
  Planner(mlir::Operation *root, ShardingTable &table,
          const cost::CostModel &cost, PlannerOptions options = {});
  ~Planner();

  /// Chooses the cheapest rewrites and layouts for which the program fits into
  /// memory.
  void choose();
  /// Returns true if the solver has proved that no other layouts cost less,
  /// whatever memory they need. The proof is about the solver's model of the
  /// program.
  bool isOptimal() const;
  /// An upper bound on how much cheaper other layouts can be; 0 if these are
  /// optimal.
  double getGap() const;
  PlanCost getCost() const;

  /// The ops of the program with its rewrites, each before the ops in its
  /// regions.
  llvm::ArrayRef<mlir::Operation *> getOps() const;
  /// The layout in which a value is made. The value may be an argument of a
  /// region.
  const TensorSharding &getLayout(mlir::Value value) const;
  /// If the root is a manual region: the layout in which an argument enters the
  /// region, or a result leaves it.
  const TensorSharding &getBorder(mlir::Value carrier) const;
  /// The layout of a result of the function; null if the planner was not free
  /// to choose it.
  const TensorSharding *getResultLayout(unsigned result) const;

  /// A copy of a value in a different layout.
  struct Reshard {
    const TensorSharding *layout;
    /// The index, in the list that getReshards() returns, of the reshard from
    /// whose result this copy is made; -1 if it is made from the value itself.
    int source;
    bool isFree; ///< Whether nothing is sent: each device already has the data.
    /// The op before which the copy is made, and the first op that needs it.
    mlir::Operation *before, *user;
    /// The uses of the value that read this copy instead.
    llvm::SmallVector<mlir::OpOperand *, 2> uses;
  };
  /// Returns the reshards of a value in the order in which they are made. The
  /// result of a constraint or barrier counts as the value that it passes on.
  llvm::SmallVector<Reshard, 0> getReshards(mlir::Value value) const;

  struct Alternative {
    const TensorSharding *layout;
    double regret; ///< How much more the program would cost.
  };
  /// Returns at most `most` other layouts in which the op could compute
  /// `value`, cheapest first. All other choices stay the same.
  llvm::SmallVector<Alternative> getAlternatives(mlir::Value value,
                                                 unsigned most) const;

  /// Gives `value` the layout `layout`: its op uses the cheapest strategy with
  /// that layout. An argument's layout can change only with `freeArguments`.
  /// Returns false if the layout is impossible. All other choices stay the
  /// same.
  bool select(mlir::Value value, const TensorSharding &layout);

  /// Applies the chosen rewrites to the program. Writes neither layouts nor
  /// reshards.
  void commit();
  /// Replaces `tp.splice` ops along unsharded dimensions by slices that are
  /// concatenated or padded. Splices with a partial result do not change. Call
  /// this after the layouts have been written.
  void takeSplicesApart();

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tp

#endif // TPOPT_PLAN_PLANNER_H
