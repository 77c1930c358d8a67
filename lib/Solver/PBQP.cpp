// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The problem itself, and the order of the steps that solve it.

#include "lib/Solver/PBQP.h"

#include "BucketElimination.h"
#include "ForestDescent.h"
#include "Infinity.h"
#include "Lifting.h"
#include "ReducedCostFixing.h"
#include "Reduction.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tp;
using namespace tp::solver;

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

unsigned Problem::addNode(llvm::ArrayRef<double> own) {
  nodes.push_back({costs.size(), unsigned(own.size()), 0, 0, {}});
  costs.insert(costs.end(), own.begin(), own.end());
  return nodes.size() - 1;
}

void Problem::addCosts(unsigned node, llvm::ArrayRef<uint16_t> indices,
                       llvm::ArrayRef<double> more) {
  for (auto [option, index] : llvm::enumerate(indices))
    costs[nodes[node].firstCost + option] += more[index];
}

void Problem::addEdge(unsigned from, llvm::ArrayRef<uint16_t> rows, unsigned to,
                      llvm::ArrayRef<uint16_t> columns,
                      const CostMatrix &matrix) {
  nodes[from].edges.push_back(edges.size());
  nodes[to].edges.push_back(edges.size());
  ++nodes[from].numForward;
  ++nodes[to].numBackward;
  edges.push_back({{from, to}, {rows, columns}, &matrix});
}

double Problem::getNumEntries() const {
  double count = 0;
  for (const Edge &edge : edges)
    count += double(edge.matrix->rows) * edge.matrix->columns;
  return count;
}

double Problem::evaluate(llvm::ArrayRef<unsigned> selection) const {
  double cost = 0;
  for (auto [node, option] : llvm::zip_equal(nodes, selection))
    cost += costs[node.firstCost + option];
  for (const Edge &edge : edges)
    cost += edge.getCost(edge.nodes[0], selection[edge.nodes[0]],
                         selection[edge.nodes[1]]);
  return cost;
}

void Problem::Solution::improve(const Problem &problem,
                                std::vector<unsigned> other) {
  double otherCost = problem.evaluate(other);
  if (otherCost < cost) {
    cost = otherCost;
    selection = std::move(other);
  }
}

//===----------------------------------------------------------------------===//
// The order of the steps
//===----------------------------------------------------------------------===//

Problem::Solution Problem::solve(Effort effort) const {
  Reduction reduction(*this);
  Solution solution = reduction.core.solveCore(effort);
  solution.selection = reduction.propagateBack(solution.selection);
  solution.lowerBound += reduction.constant;
  solution.cost = evaluate(solution.selection);
  return solution;
}

Problem::Solution Problem::solveCore(Effort effort) const {
  // If the tables are small, this takes less time than a few iterations of
  // message passing.
  if (auto optimum = BucketElimination::solve(*this, effort.work)) {
    double cost = evaluate(*optimum);
    return {std::move(*optimum), cost, cost};
  }
  std::unique_ptr<Lifting> lifting = Lifting::create(*this);
  if (!lifting)
    return ReducedCostFixing(*this).solve(effort);
  ReducedCostFixing classes(lifting->classes);
  std::vector<unsigned> selection = classes.solve(effort).selection;
  Solution solution =
      ReducedCostFixing(*this, *lifting, classes, selection).confirm(effort);
  ForestDescent(*this).improve(solution);
  return solution;
}

//===----------------------------------------------------------------------===//
// Regrets
//===----------------------------------------------------------------------===//

std::vector<double>
Problem::getRegrets(llvm::ArrayRef<unsigned> selection, unsigned node,
                    llvm::function_ref<bool(unsigned)> adapts) const {
  // Several edges may lead to one neighbour, which has one option for all of
  // them.
  llvm::MapVector<unsigned, llvm::SmallVector<const Edge *, 2>> edgesTo;
  for (unsigned e : nodes[node].edges)
    edgesTo[edges[e].getOther(node)].push_back(&edges[e]);

  // The cost of each option of a neighbour, not counting its edges to `node`.
  auto getCostsApart = [&](unsigned neighbour) {
    std::vector<double> sums = getCosts(neighbour).vec();
    for (unsigned e : nodes[neighbour].edges) {
      unsigned far = edges[e].getOther(neighbour);
      if (far != node)
        for (auto [option, sum] : llvm::enumerate(sums))
          sum += edges[e].getCost(neighbour, option, selection[far]);
    }
    return sums;
  };

  std::vector<double> regrets = getCosts(node).vec();
  for (auto &[neighbour, parallel] : edgesTo) {
    // The options that the neighbour may take, with costs from getCostsApart().
    llvm::SmallVector<std::pair<unsigned, double>> allowed;
    if (adapts(neighbour))
      for (auto [option, cost] : llvm::enumerate(getCostsApart(neighbour)))
        allowed.push_back({option, cost});
    else
      allowed.push_back({selection[neighbour], 0});
    for (auto [option, regret] : llvm::enumerate(regrets)) {
      double least = kInfinity;
      for (auto [answer, cost] : allowed) {
        for (const Edge *edge : parallel)
          cost += edge->getCost(node, option, answer);
        least = std::min(least, cost);
      }
      regret += least;
    }
  }
  double selected = regrets[selection[node]];
  for (double &regret : regrets)
    regret -= selected;
  return regrets;
}
