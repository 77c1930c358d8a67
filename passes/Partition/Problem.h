// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Partition as a labeling problem: ops are nodes, their strategies the
// candidates, reshards the edges.

#ifndef TPOPT_PASSES_PARTITION_PROBLEM_H
#define TPOPT_PASSES_PARTITION_PROBLEM_H

#include "Strategies.h"

#include "tpopt/Program/ShardingTable.h"
#include "tpopt/Sharding/Labeling.h"
#include "tpopt/Sharding/Reshard.h"

#include <deque>

namespace tp {

/// What all problems of one function share: plans, strategy sets, matrices.
class PartitionContext {
public:
  PartitionContext(ShardingTable &table, llvm::ArrayRef<AxisRef> atoms,
                   const CostModel &cost)
      : table(table), cost(cost), planner(table.getMesh()),
        strategies(atoms, cost) {}

  /// The price of getting a tensor of `type` from each of `from` to each of
  /// `to`. Shared between equal questions.
  const CostMatrix &getMatrix(mlir::Type type,
                              llvm::ArrayRef<TensorSharding> from,
                              llvm::ArrayRef<TensorSharding> to);
  double getReshardCost(mlir::Type type, const TensorSharding &from,
                        const TensorSharding &to);

  ShardingTable &table;
  const CostModel &cost;
  ReshardPlanner planner;
  StrategyEnumerator strategies;

private:
  std::map<std::vector<const void *>, CostMatrix> matrices;
};

/// The choice for a list of ops. Values from outside, and values that outsiders
/// use, have the layout the table gives them; `resultLayouts` overrides that
/// for values that stand for others.
class PartitionProblem {
public:
  PartitionProblem(PartitionContext &context,
                   llvm::ArrayRef<mlir::Operation *> ops);

  /// Pins the layout in which a value leaves this problem.
  void setResultLayout(mlir::Value value, TensorSharding layout) {
    resultLayouts[value] = std::move(layout);
  }
  /// Solves; returns the predicted cost.
  double solve();

  /// After solve(): the layout in which an op makes `value`, and the one in
  /// which operand `index` of `op` is wanted.
  TensorSharding getLayout(mlir::Value value) const;
  TensorSharding getRequirement(mlir::Operation *op, unsigned index) const;

private:
  /// One side of an edge: which candidate of a node means which layout.
  struct Port {
    unsigned node;
    const std::vector<TensorSharding> *layouts;
    const std::vector<uint16_t> *ports;
  };
  struct OpState {
    const StrategySet *set = nullptr;
    unsigned node = 0;
  };

  void enumerate();
  Port addFixedNode(const TensorSharding &layout);
  Port getProducer(mlir::Value value);
  void addUses(mlir::Value value, Port producer);
  std::optional<Port> getUse(mlir::OpOperand &use);
  void connect(mlir::Type type, Port from, Port to);
  bool isFixed(mlir::Operation *op) const;

  PartitionContext &context;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, OpState> states;
  llvm::DenseMap<mlir::Value, TensorSharding> resultLayouts;
  Labeling labeling;
  Labeling::Solution solution;
  /// Single layouts of fixed nodes; addresses stay.
  std::deque<std::vector<TensorSharding>> ownLayouts;
  std::deque<std::vector<uint16_t>> ownPorts;
  std::deque<StrategySet> ownSets;
};

} // namespace tp

#endif // TPOPT_PASSES_PARTITION_PROBLEM_H
