// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Bucket elimination (Dechter, Bucket Elimination: A Unifying Framework for
// Reasoning, Artificial Intelligence 113, 1999): dynamic programming over the
// nodes of a graph.
//
// The bucket of a node holds the tables that mention it, at first the matrices
// of its edges. To eliminate a node, the tables in its bucket and its costs are
// added up, and the sum is minimized over its options. The result is a table
// over its neighbours, which replaces the added tables in the neighbours'
// buckets. R0, RI and RII (Reduction.h) are the special cases of zero, one and
// two neighbours.
//
// A cycle a-b-c-d, in the order a, b, c, d:
//
//     bucket of a: T(a, b), T(d, a)     -> U(b, d) = min over a of
//                                                  cost(a) + T(a, b) + T(d, a)
//     bucket of b: T(b, c), U(b, d)     -> V(c, d)
//     bucket of c: T(c, d), V(c, d)     -> W(d)
//     bucket of d: W(d)                 -> the optimum
//
// Back-propagation then visits the nodes in reverse. Each takes the best option
// according to the tables in its bucket: all other nodes in these tables
// already have their options.
//
// Time and memory are exponential in the number of neighbours at elimination,
// so they depend on the order (EliminationOrder.h). A node that the order fixes
// is not eliminated: its current option is substituted into the tables of its
// bucket.

#ifndef TPOPT_LIB_SOLVER_BUCKETELIMINATION_H
#define TPOPT_LIB_SOLVER_BUCKETELIMINATION_H

#include "CostTable.h"
#include "EliminationOrder.h"

#include <deque>
#include <optional>

namespace tp::solver {

class Problem::BucketElimination {
public:
  /// An optimal selection, or nullopt if finding it takes more than `work`.
  static std::optional<std::vector<unsigned>> solve(const Problem &problem,
                                                    double work);

  /// The best of the selections that agree with `selection` in all nodes that
  /// the order does not eliminate.
  static std::vector<unsigned> run(const Problem &problem,
                                   const EliminationOrder &order,
                                   llvm::ArrayRef<unsigned> selection);

private:
  explicit BucketElimination(const Problem &problem);
  void fix(unsigned node, unsigned option);
  void eliminate(unsigned node, llvm::ArrayRef<unsigned> neighbours);
  llvm::SmallVector<unsigned> orderLoops(unsigned node,
                                         llvm::ArrayRef<unsigned> neighbours);
  unsigned selectOption(unsigned node,
                        llvm::ArrayRef<unsigned> selection) const;

  const Problem &problem;
  std::deque<CostTable> tables;
  std::deque<std::vector<double>> storage; ///< Holds the computed tables.
  /// Indexed by node. The bucket of an eliminated node stays as it was.
  std::vector<llvm::SmallVector<CostTable *, 4>> buckets;
};

} // namespace tp::solver

#endif // TPOPT_LIB_SOLVER_BUCKETELIMINATION_H
