// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A labeling problem without what can be decided exactly.
//
// Each of these rules keeps an optimum (PBQP: Scholz and Eckstein, Register
// Allocation for Irregular Architectures, LCTES 2002):
//
//   a candidate                   goes if a cheaper one looks the same to all
//                                 neighbours,
//   a node with one candidate     becomes costs of its neighbours' candidates,
//   a node with one neighbour     too: each of that one's candidates knows the
//                                 best answer to it,
//   a node with two neighbours    becomes an edge between them.
//
// Chains with bridges vanish, as forward passes are; of a layer with its
// backward pass some nodes remain.

#ifndef TPOPT_LIB_SOLVER_REDUCTION_H
#define TPOPT_LIB_SOLVER_REDUCTION_H

#include "Compaction.h"

#include <deque>
#include <map>
#include <tuple>
#include <vector>

namespace tp::pbqp {

class Problem::Reduction {
public:
  explicit Reduction(const Problem &problem);

  /// What is left; its ports and matrices live here.
  Problem core;
  /// What every choice costs besides.
  double constant = 0;
  /// The best choice for all nodes, given that of the core's.
  std::vector<unsigned> expand(llvm::ArrayRef<unsigned> coreLabels) const;

private:
  /// A node with the candidates and the edges that it still has. Both are
  /// numbered as in the problem.
  struct Part {
    llvm::MutableArrayRef<double> costs;
    llvm::MutableArrayRef<unsigned> candidates;
    llvm::SmallVector<unsigned, 4> edges;
    bool isRemoved = false;
    /// Whether something around it has changed since it was last pruned.
    bool isDirty = true;
  };
  /// An edge seen from one of its ends.
  struct View {
    unsigned other;
    llvm::ArrayRef<uint16_t> ports, otherPorts;
    unsigned numPorts, numOtherPorts;
    const double *values;
    size_t stride, otherStride;
    double cost(unsigned port, unsigned otherPort) const {
      return values[port * stride + otherPort * otherStride];
    }
  };

  View getView(unsigned node, unsigned edge) const;
  /// Adds an edge, to one that joins the same nodes if there is one.
  void join(const Edge &edge);
  Edge merge(const Edge &a, const Edge &b);
  Edge makeMerged(const Edge &a, const Edge &b);
  void remove(unsigned node);
  void settle(unsigned node);
  void fold(unsigned node);
  void bridge(unsigned node);
  const CostMatrix &getAnswers(const Part &part, const View &from,
                               const View &to);
  bool areDistinct(const Part &part, const View &view) const;
  bool prune(unsigned node);
  void simplify();
  void buildCore();

  std::vector<Part> parts;
  std::vector<double> costs;        ///< Of all parts.
  std::vector<unsigned> candidates; ///< The same.
  std::vector<Edge> edges;
  std::deque<std::vector<uint16_t>> ports;
  std::deque<CostMatrix> matrices;
  /// By both edges, as the node sees them, and its candidates and their costs.
  std::map<std::tuple<const double *, size_t, const uint16_t *, const double *,
                      size_t, const uint16_t *, const Compaction::Candidates *,
                      const std::vector<double> *>,
           const CostMatrix *>
      bridges;
  SharedLists<double> bridged; ///< Costs of their nodes.
  /// What became of two edges, by both and the candidates at their ends.
  std::map<std::tuple<const CostMatrix *, const uint16_t *, const uint16_t *,
                      const CostMatrix *, const uint16_t *, const uint16_t *,
                      const Compaction::Candidates *,
                      const Compaction::Candidates *>,
           Edge>
      merged;
  Compaction compaction; ///< Of the core's edges.
  std::vector<unsigned> worklist;
  /// In the order in which they went.
  std::vector<unsigned> removed;
  /// The core's nodes by their numbers there.
  std::vector<unsigned> coreNodes;
};

} // namespace tp::pbqp

#endif // TPOPT_LIB_SOLVER_REDUCTION_H
