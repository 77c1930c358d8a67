// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A restriction of a problem: every node keeps only some of its options.
//
// Options are kept if their reduced costs (see ReducedCostFixing.h) are at most
// a limit. With limit 3, a node with the reduced costs (0, 5, 1) keeps its
// options 0 and 2, and a node with (2, 0) keeps both options. The selection (2,
// 0) of the problem is then the selection (1, 0) of the restriction.

#ifndef TPOPT_LIB_SOLVER_RESTRICTION_H
#define TPOPT_LIB_SOLVER_RESTRICTION_H

#include "Compaction.h"

namespace tp::solver {

class Problem::Restriction {
public:
  /// Keeps the options whose reduced cost is at most `limit`. `reducedCosts`
  /// has the same order as the costs of `problem`. Every node must keep an
  /// option.
  Restriction(const Problem &problem, llvm::ArrayRef<double> reducedCosts,
              double limit);

  /// The remaining problem. It refers to indices and matrices of this object.
  Problem rest;

  /// Converts a selection of `rest` to one of the original problem.
  std::vector<unsigned> expand(llvm::ArrayRef<unsigned> selection) const;
  /// Converts a selection of the original problem to one of `rest`. All options
  /// of the selection must have been kept.
  std::vector<unsigned> narrow(llvm::ArrayRef<unsigned> selection) const;
  /// The remaining rows or columns of an edge's matrix.
  const Compaction::Lines &getLines(unsigned edge, unsigned end) const {
    return edges[edge]->lines[end];
  }

private:
  Compaction compaction;
  std::vector<const Compaction::Options *> kept; ///< Indexed by node.
  std::vector<const Compaction::CompactEdge *> edges;
};

} // namespace tp::solver

#endif // TPOPT_LIB_SOLVER_RESTRICTION_H
