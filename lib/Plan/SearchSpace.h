// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The basis of all plans for one function or manual region: layouts by number,
// the strategies of its ops, and the costs of reshards.

#ifndef TPOPT_PLAN_SEARCHSPACE_H
#define TPOPT_PLAN_SEARCHSPACE_H

#include "Strategies.h"

#include "lib/Cost/ProgramCost.h"
#include "lib/Solver/PBQP.h"

#include <map>
#include <memory>
#include <tuple>

namespace tp::plan {

/// The fractions of its price that a reshard pays (see Slack.h).
struct PriceShares {
  /// The fraction of a launch's start-up cost, its *start*. It is less than 1
  /// if the reshard will be combined with others.
  double start = 1;
  /// The fraction of the cost of sending, including the start. It is less than
  /// 1 if the reshard can run during computation.
  double cost = 1;

  auto asTuple() const { return std::pair(start, cost); }
};

/// The shares of a value's reshards from partial sums, and of all its others.
struct ReshardShares {
  PriceShares sums, gathers;

  auto asTuple() const { return std::pair(sums.asTuple(), gathers.asTuple()); }
};

/// Returned references stay valid as long as the search space.
class SearchSpace {
public:
  /// `atoms`: the parts of mesh axes that may shard something. `evenly`: no
  /// tensor may have padding.
  SearchSpace(ShardingTable &table, llvm::ArrayRef<AxisRef> atoms,
              const cost::CostModel &cost, bool evenly)
      : table(table), cost(cost), estimator(table.getMesh(), pool),
        strategies(table, atoms, cost, pool, evenly) {}

  /// The number of the layout of a sharding. The sharding must outlive the
  /// search space, which caches numbers by the sharding's address.
  unsigned getNumber(const TensorSharding &resolved);
  /// The number of the layout that the table gives `value`. A value that is not
  /// in the table is replicated.
  unsigned getNumber(mlir::Value value);
  unsigned getReplicated(unsigned rank) {
    return pool.getNumber(TensorSharding::replicate(rank));
  }

  /// The options of a tensor that can only have this layout.
  const StrategySet &getFixed(unsigned layout);
  /// The layouts that a constraint may have for its operand and its result: the
  /// one that the user has written, and those with more axes on open
  /// dimensions.
  const StrategySet &getConstrained(spmd::ConstraintOp op);
  /// The possible layouts of a value of `type` for which the plan may choose
  /// any layout: a free argument, or a value that a loop carries or branches
  /// return. If there is an `annotation`, the dimensions that are closed in it
  /// are sharded as in it.
  const StrategySet &getCarried(mlir::RankedTensorType type,
                                const TensorSharding *annotation,
                                KindSet kinds);
  /// The union of some lists of the pool, without duplicates.
  const LayoutList &getUnion(llvm::ArrayRef<const LayoutList *> lists);

  /// The bytes that a device holds of a tensor.
  int64_t getBytes(mlir::RankedTensorType type, unsigned layout);
  cost::ReshardPrices getPrices(mlir::RankedTensorType type) {
    return cost::ReshardPrices(estimator, cost, type);
  }
  /// The cost, including preferences, of `times` reshards of a tensor of `type`
  /// from each layout in `from` to each layout in `to`. Both lists belong to
  /// the pool. A reshard pays only `shares` of its price. Rows correspond to
  /// `from`, or to `to` if `transposed`.
  const solver::CostMatrix &getMatrix(mlir::RankedTensorType type,
                                      const LayoutList &from,
                                      const LayoutList &to, double times,
                                      const ReshardShares &shares,
                                      bool transposed);

  ShardingTable &table;
  const cost::CostModel &cost;
  LayoutPool pool;
  ReshardEstimator estimator;
  StrategyEnumerator strategies;

private:
  llvm::DenseMap<const TensorSharding *, unsigned> numbers;
  llvm::DenseMap<std::pair<mlir::Type, unsigned>, int64_t> bytes;
  llvm::DenseMap<unsigned, std::unique_ptr<StrategySet>> fixed;
  llvm::DenseMap<std::tuple<mlir::Type, mlir::Attribute, mlir::Attribute>,
                 std::unique_ptr<StrategySet>>
      constrained;
  std::map<std::vector<const LayoutList *>, const LayoutList *> unions;
  llvm::DenseMap<std::tuple<mlir::Type, mlir::Attribute, KindSet>,
                 std::unique_ptr<StrategySet>>
      carried;
  std::map<std::tuple<const void *, const LayoutList *, const LayoutList *,
                      double, decltype(ReshardShares().asTuple()), bool>,
           solver::CostMatrix>
      matrices;
};

} // namespace tp::plan

#endif // TPOPT_PLAN_SEARCHSPACE_H
