// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The planner chooses the layout of every value of a program, and prices
/// any other choice.
///
///     Planner planner(function, table, cost);
///     planner.choose();                  // nothing has changed yet
///     planner.getCost().price.cost;      // seconds, or bytes
///     planner.getLayout(value);          // in which an op makes it
///     planner.getReshards(value);        // what its users need besides
///
/// Rewrites are part of the choice: an op that needs a sharded dimension whole
/// may be replaced by its decomposition, and slices, pads and concatenations
/// along a sharded dimension by splices; a splice along a dimension that is not
/// sharded by a slice and a pad, if there is less to send of the slice. Plans
/// with and without them are compared on a view of the program; `commit` then
/// carries them out.
///
/// **A plan can be priced again** after one of its layouts has changed, in time
/// that grows with the uses of that value:
///
///     planner.select(argument, layout);
///     planner.getCost().peakBytes;
///
/// The cost is that of lib/Cost for the program of the plan: `getPrice` of the
/// rewritten program gives the same.

#ifndef TPOPT_PLAN_PLANNER_H
#define TPOPT_PLAN_PLANNER_H

#include "dialects/TP/ShardingTable.h"
#include "lib/Cost/OpCost.h"

#include <memory>

namespace tp {

struct PlannerOptions {
  /// Layouts of arguments and results that no annotation has closed are chosen,
  /// too. Otherwise they are as propagation has left them.
  bool freeArguments = false;
  /// All axes of the mesh may shard something. Otherwise those that occur in an
  /// annotation: nobody has asked for the others.
  bool allAxes = false;
  /// The bytes that a device may hold; 0 if that is not known. A plan that
  /// needs more makes way for a cheap one that fits, or that needs less.
  int64_t capacity = 0;
  /// The payload up to which collectives will share a launch, and its start; 0
  /// if each goes alone.
  int64_t bucketBytes = 0;
};

/// What a call of the program costs a device.
struct PlanCost {
  cost::Price price; ///< Of all ops and reshards.
  /// Bytes of arguments that are kept from one call to the next.
  int64_t persistentBytes = 0;
  /// The most bytes that all other values hold at one time.
  int64_t peakBytes = 0;

  int64_t getHeldBytes() const { return persistentBytes + peakBytes; }
};

class Planner {
public:
  /// Plans a function, or the body of a manual region along its free axes. The
  /// bodies of manual regions in it are planned apart. Each op must have a
  /// sharding rule, implement RegionFlowOpInterface, or end a region. Table and
  /// cost model must outlive the planner.
  Planner(mlir::Operation *root, ShardingTable &table,
          const cost::CostModel &cost, PlannerOptions options = {});
  ~Planner();

  /// Chooses rewrites and layouts such that the program costs least, and fits.
  void choose();
  /// Whether the solver proved that no other layouts cost less, whatever memory
  /// they need. The proof is about the solver's model of the program.
  bool isOptimal() const;
  /// How much less other layouts could cost at most, as far as that is known;
  /// 0 if these are optimal.
  double getGap() const;
  PlanCost getCost() const;

  /// The ops of the program with its rewrites, each before those in its
  /// regions.
  llvm::ArrayRef<mlir::Operation *> getOps() const;
  /// The layout in which a value is made, the argument of a region included.
  const TensorSharding &getLayout(mlir::Value value) const;
  /// The layout in which an argument enters a manual region, or in which a
  /// result leaves it: that of the root.
  const TensorSharding &getBorder(mlir::Value carrier) const;
  /// The layout of a result of the function; null unless it was free.
  const TensorSharding *getResultLayout(unsigned result) const;

  /// A copy of a value in another layout.
  struct Reshard {
    const TensorSharding *layout;
    /// The reshard of the same list whose result it copies, or -1 for the value
    /// itself.
    int source;
    bool isFree; ///< Nothing is sent: each device has what it needs.
    /// It is made before this op. The op of the use that it is made for.
    mlir::Operation *before, *user;
    /// The uses that take it.
    llvm::SmallVector<mlir::OpOperand *, 2> uses;
  };
  /// In the order in which they are made. A value that a constraint or a
  /// barrier hands on counts as the one that it was.
  llvm::SmallVector<Reshard, 0> getReshards(mlir::Value value) const;

  struct Alternative {
    const TensorSharding *layout;
    double regret; ///< How much more the program would cost.
  };
  /// The best other layouts in which an op could make `value`, all else being
  /// as it is.
  llvm::SmallVector<Alternative> getAlternatives(mlir::Value value,
                                                 unsigned most) const;

  /// Makes an op compute `value` in another layout, in the cheapest of the ways
  /// that do, or an argument arrive in it. False if there is none: an argument
  /// is free only with that option. Nothing else changes.
  bool select(mlir::Value value, const TensorSharding &layout);

  /// Rewrites the program as chosen. Layouts and reshards are not written.
  void commit();
  /// Once layouts are written: splices along dimensions that are not sharded
  /// become slices and concatenations again.
  void takeSplicesApart();

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tp

#endif // TPOPT_PLAN_PLANNER_H
