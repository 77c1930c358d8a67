// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Large neighbourhood search (Shaw, Using Constraint Programming and Local
// Search Methods to Solve Vehicle Routing Problems, CP 1998).
//
// A step fixes a few nodes to the options they have, and finds the best options
// of all others by bucket elimination. The selections that agree on the fixed
// nodes are the neighbourhood. A neighbourhood has exponentially many
// selections, and the best of them is found exactly. The elimination order
// decides which nodes are fixed: as few as are needed to keep tables small, and
// different ones in each step. If it fixes none, the result is an optimum.
//
// With tables over at most two nodes, a step on a grid may fix every second
// row, because the remaining rows are chains. The next step fixes the others:
//
//     o - o - o            # - # - #        # fixed
//     |   |   |            |   |   |        o optimized
//     # - # - #            o - o - o
//     |   |   |            |   |   |
//     o - o - o            # - # - #

#ifndef TPOPT_LIB_SOLVER_NEIGHBOURHOODSEARCH_H
#define TPOPT_LIB_SOLVER_NEIGHBOURHOODSEARCH_H

#include "EliminationOrder.h"

namespace tp::solver {

class Problem::NeighbourhoodSearch {
public:
  /// `work` limits the number of table entries in a step.
  NeighbourhoodSearch(const Problem &problem, double work);

  /// Improves a selection until a step gives no improvement, but makes at least
  /// two steps. Returns whether the new selection is proved optimal.
  bool improve(std::vector<unsigned> &selection);

private:
  EliminationOrder findOrder() const;

  const Problem &problem;
  EliminationOrder::Limits limits;
  std::vector<unsigned> numOptions; ///< Indexed by node.
  /// The number of steps that fixed each node.
  std::vector<unsigned> timesFixed;
};

} // namespace tp::solver

#endif // TPOPT_LIB_SOLVER_NEIGHBOURHOODSEARCH_H
