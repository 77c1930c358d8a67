// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reductions of a PBQP that preserve an optimum (Scholz and Eckstein, Register
// Allocation for Irregular Architectures, LCTES 2002; Hames and Scholz, Nearly
// Optimal Register Allocation with PBQP, JMLC 2006).
//
//   R0    A node without edges takes its cheapest option.
//   RI    A node x with one neighbour y is removed. Each option of y gets the
//         cost of the best option of x for it.
//   RII   A node x with two neighbours y and z is removed. Each pair of their
//         options gets the cost of the best option of x for it: an edge from y
//         to z. If there is one already, the costs are added to it.
//
// Two more rules prepare for these:
//
//   trivial nodes   A node with one option is removed. The cost of its edge
//                   for each option of a neighbour is added to that option.
//   dominance       An option is removed if a cheaper option of the node has
//                   the same rows and columns at all edges. (This is dead-end
//                   elimination after Goldstein, Biophysical Journal 66, 1994,
//                   in the special case that no edge tells the options apart.)
//
// Parallel edges are merged into one, so that degrees count neighbours.
//
// An example of RI, with a as x and b as y:
//
//     costs of a: (0, 2)      edge:   | 4  6 |      costs of b: (1, 0)
//                                     | 3  0 |
//
//     b = 0: min(0+4, 2+3) = 4, from a = 0      new costs of b: (5, 2)
//     b = 1: min(0+6, 2+0) = 2, from a = 1
//
// Then R0 selects b = 1, at cost 2. Back-propagation visits the removed nodes
// in reverse, and gives each its best option given the options of its
// neighbours: a = 1.
//
// The remaining nodes, to which no rule applies, form the core, which is a
// problem of its own.

#ifndef TPOPT_LIB_SOLVER_REDUCTION_H
#define TPOPT_LIB_SOLVER_REDUCTION_H

#include "Compaction.h"

#include <deque>
#include <map>
#include <tuple>
#include <vector>

namespace tp::solver {

class Problem::Reduction {
public:
  explicit Reduction(const Problem &problem);

  /// The remaining problem. It refers to indices and matrices of this object.
  Problem core;
  /// The cost of the removed nodes that is not part of the core.
  double constant = 0;
  /// The best options of all nodes, given those of the core's nodes.
  std::vector<unsigned>
  propagateBack(llvm::ArrayRef<unsigned> coreSelection) const;

private:
  /// A node, with the numbers of its remaining options and of its edges.
  struct ReducedNode {
    /// Indexed by option, including removed ones.
    llvm::MutableArrayRef<double> costs;
    llvm::MutableArrayRef<unsigned> options; ///< The remaining options.
    llvm::SmallVector<unsigned, 4> edges;
    bool isRemoved = false;
    /// Whether the dominance rule may apply: some neighbour has been removed
    /// since the rule was last tried.
    bool mayHaveDominated = true;
  };
  /// An edge as seen from one of its ends: the indices of that end are the
  /// rows.
  struct EdgeView {
    unsigned other;
    llvm::ArrayRef<uint16_t> indices, otherIndices; ///< Indexed by option.
    unsigned numIndices, numOtherIndices;
    const double *values;
    size_t stride, otherStride;
    double at(unsigned index, unsigned otherIndex) const {
      return values[index * stride + otherIndex * otherStride];
    }
    double getCost(unsigned option, unsigned otherOption) const {
      return at(indices[option], otherIndices[otherOption]);
    }
  };

  EdgeView getView(unsigned node, unsigned edge) const;
  void addEdge(const Edge &edge);
  Edge mergeParallel(const Edge &a, const Edge &b);
  Edge computeMerged(const Edge &a, const Edge &b);

  void applyRules();
  void reduceNodes();
  void applyDominance();
  bool removeDominated(unsigned node);
  bool areDistinct(const ReducedNode &node, const EdgeView &view) const;
  void applyR0(unsigned node);
  void removeTrivial(unsigned node);
  void applyRI(unsigned node);
  void applyRII(unsigned node);
  const CostMatrix &computeRII(const ReducedNode &node, const EdgeView &from,
                               const EdgeView &to);
  void remove(unsigned node);
  void buildCore();

  std::vector<ReducedNode> nodes;
  std::vector<double> costs;     ///< Of all nodes.
  std::vector<unsigned> options; ///< Of all nodes.
  std::vector<Edge> edges; ///< Those of the problem, followed by new ones.
  std::vector<unsigned> worklist;
  std::vector<unsigned> removed;   ///< In the order of removal.
  std::vector<unsigned> coreNodes; ///< Indexed by number in the core.

  // Indices and matrices that the new edges refer to.
  std::deque<std::vector<uint16_t>> indexLists;
  std::deque<CostMatrix> matrices;
  Compaction compaction; ///< For the core.

  // Large problems repeat the same reductions many times. The results are
  // cached by their inputs, most of which are compared by address.

  /// Results of RII, keyed by the removed node's two edges as seen from this
  /// node, by the node's remaining options, and by the costs of these options.
  std::map<std::tuple<const double *, size_t, const uint16_t *, const double *,
                      size_t, const uint16_t *, const Compaction::Options *,
                      const std::vector<double> *>,
           const CostMatrix *>
      resultsOfRII;
  SharedLists<double> costLists;
  /// Merged edges, keyed by both edges and the options at their ends.
  std::map<std::tuple<const CostMatrix *, const uint16_t *, const uint16_t *,
                      const CostMatrix *, const uint16_t *, const uint16_t *,
                      const Compaction::Options *, const Compaction::Options *>,
           Edge>
      mergedEdges;
};

} // namespace tp::solver

#endif // TPOPT_LIB_SOLVER_REDUCTION_H
