// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BucketElimination.h"

#include "BucketMinimizer.h"
#include "Infinity.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tp;
using namespace tp::solver;

std::optional<std::vector<unsigned>>
Problem::BucketElimination::solve(const Problem &problem, double work) {
  // Every entry of a matrix is added at least once.
  if (problem.getNumEntries() > work)
    return std::nullopt;
  std::vector<unsigned> numOptions;
  for (const Node &node : problem.nodes)
    numOptions.push_back(node.numOptions);
  auto order = EliminationOrder::findExact(problem, numOptions, work);
  if (!order)
    return std::nullopt;
  std::vector<unsigned> first(problem.nodes.size(), 0);
  return run(problem, *order, first);
}

std::vector<unsigned>
Problem::BucketElimination::run(const Problem &problem,
                                const EliminationOrder &order,
                                llvm::ArrayRef<unsigned> selection) {
  BucketElimination elimination(problem);
  for (const EliminationOrder::Step &step : order.steps)
    if (step.isFixed)
      elimination.fix(step.node, selection[step.node]);
    else
      elimination.eliminate(step.node, step.neighbours);
  // Back-propagation.
  std::vector<unsigned> result = selection.vec();
  for (const EliminationOrder::Step &step : llvm::reverse(order.steps))
    if (!step.isFixed)
      result[step.node] = elimination.selectOption(step.node, result);
  return result;
}

/// Adds the matrix of each edge to the buckets of both its nodes.
Problem::BucketElimination::BucketElimination(const Problem &problem)
    : problem(problem), buckets(problem.nodes.size()) {
  for (const Edge &edge : problem.edges) {
    auto [from, to] = edge.nodes;
    CostTable &table = tables.emplace_back();
    table.values = edge.matrix->values.data();
    table.axes = {{from, edge.indices[0].data(), edge.matrix->columns},
                  {to, edge.indices[1].data(), 1}};
    buckets[from].push_back(&table);
    buckets[to].push_back(&table);
  }
}

/// Removes a node, whose option is known, from all tables: each table keeps
/// only the entries for this option.
void Problem::BucketElimination::fix(unsigned node, unsigned option) {
  for (CostTable *table : buckets[node]) {
    auto *axis = llvm::find_if(table->axes, [&](const CostTable::Axis &axis) {
      return axis.node == node;
    });
    table->values += axis->getOffset(option);
    table->axes.erase(axis);
  }
  buckets[node].clear();
}

/// Adds up the tables in the bucket of a node, minimizes the sum over its
/// options, and replaces these tables by the result in the buckets of its
/// neighbours.
void Problem::BucketElimination::eliminate(
    unsigned node, llvm::ArrayRef<unsigned> neighbours) {
  if (neighbours.empty())
    return;
  llvm::SmallVector<BucketMinimizer::Neighbour> loops;
  for (unsigned neighbour : orderLoops(node, neighbours))
    loops.push_back({neighbour, problem.nodes[neighbour].numOptions});
  CostTable table;
  size_t size = 1;
  for (auto [neighbour, numOptions] : llvm::reverse(loops)) {
    table.axes.push_back({neighbour, /*indices=*/nullptr, size});
    size *= numOptions;
  }
  std::vector<double> &values = storage.emplace_back(size, kInfinity);
  BucketMinimizer(node, problem.getCosts(node), loops, buckets[node])
      .lower(values);
  table.values = values.data();
  tables.push_back(std::move(table));
  for (unsigned neighbour : neighbours) {
    llvm::erase_if(buckets[neighbour], [&](CostTable *old) {
      return llvm::is_contained(buckets[node], old);
    });
    buckets[neighbour].push_back(&tables.back());
  }
}

/// The order of the loops over neighbours, outermost first. Neighbours in few
/// tables are innermost, so that most tables are added in outer loops.
llvm::SmallVector<unsigned>
Problem::BucketElimination::orderLoops(unsigned node,
                                       llvm::ArrayRef<unsigned> neighbours) {
  auto countTables = [&](unsigned neighbour) {
    return llvm::count_if(buckets[node], [&](const CostTable *table) {
      return llvm::any_of(table->axes, [&](const CostTable::Axis &axis) {
        return axis.node == neighbour;
      });
    });
  };
  llvm::SmallVector<unsigned> order(neighbours);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::make_pair(-countTables(a), a) <
           std::make_pair(-countTables(b), b);
  });
  return order;
}

/// The best option of a node, given the options of the other nodes in its
/// bucket in `selection`.
unsigned Problem::BucketElimination::selectOption(
    unsigned node, llvm::ArrayRef<unsigned> selection) const {
  std::vector<double> sums = problem.getCosts(node).vec();
  for (const CostTable *table : buckets[node]) {
    const double *values = table->values;
    const CostTable::Axis *nodeAxis = nullptr;
    for (const CostTable::Axis &axis : table->axes)
      if (axis.node == node)
        nodeAxis = &axis;
      else
        values += axis.getOffset(selection[axis.node]);
    for (auto [option, sum] : llvm::enumerate(sums))
      sum += values[nodeAxis->getOffset(option)];
  }
  return std::min_element(sums.begin(), sums.end()) - sums.begin();
}
