// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Partition as a PBQP (tpopt/Solver/PBQP.h): ops are nodes, their strategies
// the options, reshards the edges.

#ifndef TPOPT_PASSES_PARTITION_PROBLEM_H
#define TPOPT_PASSES_PARTITION_PROBLEM_H

#include "Strategies.h"

#include "tpopt/Program/ShardingTable.h"
#include "tpopt/Sharding/ReshardEstimate.h"
#include "tpopt/Solver/PBQP.h"

#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>

namespace tp {

/// What reshards of tensors of one type cost.
struct ReshardPrices {
  ReshardEstimator &estimator;
  ReshardEstimator::Shape shape;
  double launchPreference;

  double get(unsigned from, unsigned to) {
    ReshardEstimator::Estimate estimate = estimator.get(from, to, shape);
    return estimate.cost + estimate.launches * launchPreference;
  }
};

/// What all problems of one function share: layouts, prices, strategy sets,
/// matrices. All that it hands out stays where it is.
class PartitionContext {
public:
  /// `evenly`: no tensor may have padding.
  PartitionContext(ShardingTable &table, llvm::ArrayRef<AxisRef> atoms,
                   const CostModel &cost, bool evenly)
      : table(table), cost(cost), estimator(table.getMesh(), pool),
        strategies(table, atoms, cost, pool, evenly), identity(UINT16_MAX) {
    std::iota(identity.begin(), identity.end(), 0);
  }

  /// The layout of a sharding that lives as long as the context.
  unsigned getNumber(const TensorSharding &resolved);
  /// That of a whole tensor on every device.
  unsigned getReplicated(unsigned rank) {
    return pool.getNumber(TensorSharding::replicate(rank));
  }
  /// The layout that the table gives `value`.
  unsigned getNumber(mlir::Value value);
  /// What the user has chosen for both tensors of `op`, and on open dimensions
  /// has not.
  const StrategySet &getConstrained(spmd::ConstraintOp op);
  /// The layouts in which a loop may carry a value of `type` on, or branches
  /// may hand it out: any, but for what an annotation has closed.
  const StrategySet &getCarried(mlir::RankedTensorType type,
                                const TensorSharding *annotation,
                                KindSet kinds);
  /// All layouts of some lists of the pool, each once.
  const LayoutList &getUnion(llvm::ArrayRef<const LayoutList *> lists);
  /// 0, 1, 2, ..: the port states of candidates that are the states.
  llvm::ArrayRef<uint16_t> getIdentity(size_t size) const {
    return llvm::ArrayRef(identity).take_front(size);
  }
  /// The price of getting a tensor of `type` from each of `from` to each of
  /// `to`, lists of the pool, so many times. Transposed, `to` makes the rows.
  const pbqp::CostMatrix &getMatrix(mlir::Type type, const LayoutList &from,
                                    const LayoutList &to, double times,
                                    bool transposed);
  double getReshardCost(mlir::Type type, const TensorSharding &from,
                        const TensorSharding &to);

  ShardingTable &table;
  const CostModel &cost;
  LayoutPool pool;
  ReshardEstimator estimator;
  StrategyEnumerator strategies;

private:
  ReshardPrices getPrices(mlir::Type type);

  llvm::DenseMap<const TensorSharding *, unsigned> numbers;
  llvm::DenseMap<std::tuple<mlir::Type, mlir::Attribute, mlir::Attribute>,
                 std::unique_ptr<StrategySet>>
      constrained;
  std::map<std::vector<const LayoutList *>, const LayoutList *> unions;
  llvm::DenseMap<std::tuple<mlir::Type, mlir::Attribute, KindSet>,
                 std::unique_ptr<StrategySet>>
      carried;
  std::map<std::tuple<const void *, const LayoutList *, const LayoutList *,
                      double, bool>,
           pbqp::CostMatrix>
      matrices;
  std::vector<uint16_t> identity;
};

/// The choice for a list of ops. Values from outside, and values that outsiders
/// use, have the layout the table gives them. Those of the body of a manual
/// region come with the choice of how values enter and leave it.
class PartitionProblem {
public:
  PartitionProblem(PartitionContext &context,
                   llvm::ArrayRef<mlir::Operation *> ops,
                   spmd::ManualOp manual = {});

  /// Solves; returns the predicted cost.
  double solve();

  /// After solve(): the layout in which an op makes `value`, and the one in
  /// which operand `index` of `op` is wanted. They live as long as the context.
  const TensorSharding &getLayout(mlir::Value value) const;
  const TensorSharding &getRequirement(mlir::Operation *op,
                                       unsigned index) const;
  /// That in which the body of the manual region gets its argument `carrier`,
  /// or returns the region's result `carrier`.
  const TensorSharding &getCarried(mlir::Value carrier) const;

  /// Another layout in which an op could make its result, and how much more
  /// everything would then cost, with copies made anew and all other ops as
  /// they are.
  struct Alternative {
    TensorSharding layout;
    double regret;
  };
  /// After solve(): the best alternatives for `value`, cheapest first; none if
  /// its op has no choice.
  std::vector<Alternative> getAlternatives(mlir::Value value,
                                           unsigned most) const;

private:
  /// One side of an edge: which candidate of a node means which layout. A
  /// layout that nobody chooses has no node.
  struct Port {
    const unsigned *node;
    const LayoutList *layouts;
    llvm::ArrayRef<uint16_t> ports;
  };
  /// A value, who makes it and who takes it. Of several users, a node between
  /// stands for the copy that they share.
  struct Flow {
    mlir::Type type;
    Port producer;
    llvm::SmallVector<Port, 2> uses;
    double times;             ///< How often a reshard of it runs.
    const LayoutList *shared; ///< What the node chooses from, null without one.
    unsigned node;
  };
  struct OpState {
    const StrategySet *set = nullptr;
    unsigned node = 0;
  };

  /// A value that enters or leaves the manual region: the argument or result
  /// that stands for it, what it is inside, and its shardings there and, as
  /// propagation left it, outside.
  struct Border {
    mlir::Value carrier;
    mlir::RankedTensorType type;
    spmd::ShardingAttr inside, outside;
  };

  llvm::SmallVector<Border> findBorders();
  void enumerate();
  bool enumerate(llvm::DenseMap<mlir::Value, KindSet> &partial);
  Port getPort(mlir::Value carrier);
  unsigned getCarriedLayout(mlir::Value carrier) const;
  Port fix(unsigned layout);
  Port getProducer(mlir::Value value);
  void addFlow(mlir::Value value);
  void connect(const Flow &flow);
  std::optional<Port> getUse(mlir::OpOperand &use);
  void connect(mlir::Type type, Port from, Port to, double times);
  bool isFixed(mlir::Operation *op) const;

  PartitionContext &context;
  llvm::SmallVector<mlir::Operation *> ops;
  spmd::ManualOp manual;
  llvm::SmallVector<Border> borders;
  llvm::DenseMap<mlir::Operation *, OpState> states;
  /// Results of loops and conditionals: one choice for the result, what the
  /// body gets and what it yields. And the manual region's borders.
  llvm::DenseMap<mlir::Value, OpState> carriers;
  pbqp::Problem labeling;
  pbqp::Problem::Solution solution;
  std::deque<Flow> flows; ///< A program's are many to move.
};

} // namespace tp

#endif // TPOPT_PASSES_PARTITION_PROBLEM_H
