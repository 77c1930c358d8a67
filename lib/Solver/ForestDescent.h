// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Descent from a selection to a better one, a forest at a time.
//
// A step chooses a set of nodes whose edges among each other form a forest.
// All other nodes keep their options, so their edges become costs of the nodes
// in the forest. Dynamic programming then finds the best options of the forest:
// costs of subtrees from the leaves to the roots, then options from the roots
// to the leaves. This is block coordinate descent: a step never makes the
// selection worse.
//
// In a cycle a-b-c-d the forest that is grown in the order a, b, c, d is the
// path a-b-c. The node d would close the cycle and keeps its option:
//
//     a --- b
//     |     |        forest: a - b - c        fixed: d
//     d --- c
//
// Other orders grow other forests. The descent ends when a forest gives no
// improvement.

#ifndef TPOPT_LIB_SOLVER_FORESTDESCENT_H
#define TPOPT_LIB_SOLVER_FORESTDESCENT_H

#include "lib/Solver/PBQP.h"

namespace tp::solver {

class Problem::ForestDescent {
public:
  explicit ForestDescent(const Problem &problem) : problem(problem) {}

  /// Optimizes one forest after another while the cost falls.
  void improve(Solution &solution) const;

private:
  static constexpr unsigned kNone = ~0u;
  struct Forest {
    /// The nodes of the forest, each after its parent.
    std::vector<unsigned> nodes;
    /// Indexed by node of the problem: whether the forest contains it, and its
    /// parent in the forest. Roots have none.
    std::vector<char> contains;
    std::vector<unsigned> parents;
  };

  std::vector<unsigned> getOrder(unsigned step) const;
  std::vector<char> chooseNodes(llvm::ArrayRef<unsigned> order) const;
  Forest growForest(llvm::ArrayRef<unsigned> order) const;
  void optimize(const Forest &forest, std::vector<unsigned> &selection) const;
  void addFixedEnd(const Edge &edge, unsigned node, unsigned otherOption,
                   std::vector<double> &sums) const;
  void addSubtree(unsigned child, unsigned parent,
                  llvm::ArrayRef<const Edge *> edges,
                  std::vector<double> &sums) const;
  void addSubtree(unsigned child, const Edge &edge,
                  std::vector<double> &sums) const;
  llvm::MutableArrayRef<double> getSums(std::vector<double> &sums,
                                        unsigned node) const {
    return llvm::MutableArrayRef(sums).slice(problem.nodes[node].firstCost,
                                             problem.nodes[node].numOptions);
  }

  const Problem &problem;
};

} // namespace tp::solver

#endif // TPOPT_LIB_SOLVER_FORESTDESCENT_H
