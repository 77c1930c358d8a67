// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The order in which bucket elimination removes nodes (BucketElimination.h).
//
// Eliminating a node needs a table over the options of the node and all its
// neighbours. Afterwards the neighbours are joined to each other, because one
// table contains all of them. So the order decides how large the tables are. In
// the star below, eliminating x first would need a table over five nodes, while
// eliminating the others first needs tables over two:
//
//         a
//         |
//     b - x - c      x first:  (x, a, b, c, d), then (a, b, c, d), ...
//         |          x last:   (a, x), (b, x), (c, x), (d, x), (x)
//         d
//
// Finding the best order is NP-hard. The next node is chosen greedily by one of
// two rules: the node that joins the fewest new pairs of neighbours, weighted
// by their numbers of options (Kjaerulff, Triangulation of Graphs: Algorithms
// Giving Small Total State Space, 1990), or the node with the smallest table.
//
// If every table is too large, a node is fixed to its current option, which
// takes it out of all tables (conditioning; Dechter, Bucket Elimination, 1999).
// The result is then the best of the selections that agree on the fixed nodes.

#ifndef TPOPT_LIB_SOLVER_ELIMINATIONORDER_H
#define TPOPT_LIB_SOLVER_ELIMINATIONORDER_H

#include "lib/Solver/PBQP.h"

#include <optional>

namespace tp::solver {

class Problem::EliminationOrder {
public:
  struct Step {
    unsigned node;
    bool isFixed; ///< Otherwise it is eliminated.
    /// The neighbours of the node when it is eliminated.
    llvm::SmallVector<unsigned, 4> neighbours;
  };
  /// Work is counted in entries of tables.
  struct Limits {
    double work;      ///< For all tables together.
    double tableWork; ///< For each table.
  };

  /// Finds an order. A node is fixed only if the elimination of every node that
  /// is left would exceed `limits.tableWork`. Nodes with a low `timesFixed` are
  /// fixed rather than others. `numOptions` and `timesFixed` are by node.
  static EliminationOrder find(const Problem &problem,
                               llvm::ArrayRef<unsigned> numOptions,
                               Limits limits,
                               llvm::ArrayRef<unsigned> timesFixed);

  /// Finds an order that yields an optimum of the problem restricted to
  /// `numOptions` options per node, or nullopt if that takes more than `work`.
  static std::optional<EliminationOrder>
  findExact(const Problem &problem, llvm::ArrayRef<unsigned> numOptions,
            double work);

  /// The steps end when the limit on total work is reached. Nodes without a
  /// step keep their options, like fixed nodes.
  std::vector<Step> steps;
  double work = 0;
  /// Whether every node with several options is eliminated.
  bool isExact = true;

private:
  enum class Rule { FewestNewPairs, SmallestTable };
  class Builder;
};

} // namespace tp::solver

#endif // TPOPT_LIB_SOLVER_ELIMINATIONORDER_H
