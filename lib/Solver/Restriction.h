// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A problem in which every node has some of its options.
//
// Options are kept by their reduced costs (see ReducedCostFixing.h): those of
// at most a limit. With limit 3, nodes with the reduced costs (0, 5, 1) and (2,
// 0) keep the options 0 and 2, and 0 and 1. The selection (2, 0) of the problem
// is then the selection (1, 0) of the restriction.

#ifndef TPOPT_LIB_SOLVER_RESTRICTION_H
#define TPOPT_LIB_SOLVER_RESTRICTION_H

#include "Compaction.h"

namespace tp::solver {

class Problem::Restriction {
public:
  /// Keeps the options whose reduced cost is at most `limit`. `reducedCosts` is
  /// ordered as the costs of `problem` are. Every node must keep an option.
  Restriction(const Problem &problem, llvm::ArrayRef<double> reducedCosts,
              double limit);

  /// The problem that is left. It refers to indices and matrices of this.
  Problem rest;

  /// A selection of the rest as one of the problem.
  std::vector<unsigned> expand(llvm::ArrayRef<unsigned> selection) const;
  /// A selection of the problem as one of the rest, which must have kept it.
  std::vector<unsigned> narrow(llvm::ArrayRef<unsigned> selection) const;
  /// The rows or columns that are left of an edge's matrix.
  const Compaction::Lines &getLines(unsigned edge, unsigned end) const {
    return edges[edge]->lines[end];
  }

private:
  Compaction compaction;
  std::vector<const Compaction::Options *> kept; ///< By node.
  std::vector<const Compaction::CompactEdge *> edges;
};

} // namespace tp::solver

#endif // TPOPT_LIB_SOLVER_RESTRICTION_H
