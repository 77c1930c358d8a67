// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A labeling problem with some of its candidates.

#ifndef TPOPT_LIB_SOLVER_RESTRICTION_H
#define TPOPT_LIB_SOLVER_RESTRICTION_H

#include "Compaction.h"

namespace tp::pbqp {

class Problem::Restriction {
public:
  /// Keeps the candidates whose excess, numbered as costs are, is at most
  /// `most`. No node may lose all.
  Restriction(const Problem &problem, llvm::ArrayRef<double> excess,
              double most);

  /// What is left. Its ports and matrices live here.
  Problem rest;

  /// A choice of the rest as one of the problem.
  std::vector<unsigned> expand(llvm::ArrayRef<unsigned> labels) const;
  /// And the other way round: all of it must have been kept.
  std::vector<unsigned> narrow(llvm::ArrayRef<unsigned> labels) const;
  /// The port states that the ends of an edge are left with.
  const Compaction::States &getStates(unsigned edge, unsigned end) const {
    return edges[edge]->states[end];
  }

private:
  Compaction compaction;
  std::vector<const Compaction::Candidates *> candidates; ///< By node.
  std::vector<const Compaction::Rest *> edges;
};

} // namespace tp::pbqp

#endif // TPOPT_LIB_SOLVER_RESTRICTION_H
