// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lifting: one node represents many nodes with equal surroundings.
//
// Nodes are put into classes by colour refinement (Weisfeiler and Leman, 1968):
// a node's first colour is its cost vector, and each round adds the colours of
// its neighbours and the matrices in between. The problem of the classes has
// one node per class. Its costs are those of one member times the number of
// members, and likewise for edges (lifted inference: Kersting, Ahmadi and
// Natarajan, Counting Belief Propagation, UAI 2009).
//
//     a - b - a     ->     A - b        costs of A: twice those of a
//                                       edge:       twice that of a - b
//
// A selection for the classes gives every node the option of its class, at the
// same cost. The optimum over classes is therefore an upper bound on the
// optimum over nodes. It is not always tight, because the best selection may
// choose different options for members of one class.

#ifndef TPOPT_LIB_SOLVER_LIFTING_H
#define TPOPT_LIB_SOLVER_LIFTING_H

#include "lib/Solver/PBQP.h"

#include <map>
#include <memory>
#include <tuple>

namespace tp::solver {

class Problem::Lifting {
public:
  /// Returns null if there are more than half as many classes as nodes.
  static std::unique_ptr<Lifting> create(const Problem &problem);

  /// The problem of the classes. It refers to matrices of this object.
  Problem classes;

  /// The edge between classes that represents an edge between nodes.
  struct ClassEdge {
    unsigned number; ///< Among the edges of `classes`. `kNone` inside a class.
    unsigned numEdges; ///< The number of edges that this one represents.
    bool isTransposed; ///< Whether the two edges have opposite directions.
  };
  static constexpr unsigned kNone = ~0u;
  /// Indexed by edge of the problem.
  llvm::ArrayRef<ClassEdge> getClassEdges() const { return classEdges; }

  /// Gives each node the option of its class.
  std::vector<unsigned> expand(llvm::ArrayRef<unsigned> selection) const {
    std::vector<unsigned> result;
    for (unsigned number : classOf)
      result.push_back(selection[number]);
    return result;
  }

private:
  explicit Lifting(const Problem &problem);
  std::vector<uint64_t> refineColours() const;
  void formClasses();
  void addClassNodes();
  void addClassEdges();
  ClassEdge addClassEdge(llvm::ArrayRef<unsigned> edges);
  const CostMatrix &getMatrix(const CostMatrix &matrix, unsigned numEdges,
                              bool transpose);

  const Problem &problem;
  /// The class of each node. Classes are numbered in order of first occurrence.
  std::vector<unsigned> classOf;
  std::vector<unsigned> numMembers, firstMembers; ///< Indexed by class.
  std::vector<ClassEdge> classEdges;
  /// Keyed by the matrix of one edge, the number of equal edges that the new
  /// matrix represents, and whether the new matrix is transposed.
  std::map<std::tuple<const CostMatrix *, unsigned, bool>, CostMatrix> matrices;
};

} // namespace tp::solver

#endif // TPOPT_LIB_SOLVER_LIFTING_H
