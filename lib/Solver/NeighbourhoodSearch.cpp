// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "NeighbourhoodSearch.h"

#include "BucketElimination.h"

#include <cmath>

using namespace tp;
using namespace tp::solver;

Problem::NeighbourhoodSearch::NeighbourhoodSearch(const Problem &problem,
                                                  double work)
    : problem(problem), limits{work, /*tableWork=*/work},
      timesFixed(problem.nodes.size(), 0) {
  for (const Node &node : problem.nodes)
    numOptions.push_back(node.numOptions);
}

Problem::EliminationOrder Problem::NeighbourhoodSearch::findOrder() const {
  return EliminationOrder::find(problem, numOptions, limits, timesFixed);
}

bool Problem::NeighbourhoodSearch::improve(std::vector<unsigned> &selection) {
  // The larger a table may be, the fewer nodes are fixed, and the more work a
  // step takes. Find a size for which a step stays within the limit.
  while (limits.tableWork > 1 && findOrder().work > limits.work)
    limits.tableWork /= 4;
  // A smaller gain may be rounding error, and the search could alternate
  // between two selections.
  constexpr double kLeastGain = 1e-12;
  double cost = problem.evaluate(selection);
  // The first step may fix the wrong nodes, so there is a second one.
  unsigned stepsLeft = 2;
  while (stepsLeft-- > 0) {
    EliminationOrder order = findOrder();
    std::vector<unsigned> trial =
        BucketElimination::run(problem, order, selection);
    for (const EliminationOrder::Step &step : order.steps)
      timesFixed[step.node] += step.isFixed;
    double trialCost = problem.evaluate(trial);
    if (trialCost < cost - kLeastGain * std::abs(trialCost)) {
      cost = trialCost;
      selection = std::move(trial);
      stepsLeft = 1;
    }
    if (order.isExact)
      return true;
  }
  return false;
}
