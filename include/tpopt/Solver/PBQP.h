// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Choosing one option per node so that options of neighbours go together
/// cheaply: how Partition picks, for every op at once, the sharding it computes
/// in.
///
/// # The problem
///
/// Every node has a list of candidates with a cost each. An edge joins two
/// nodes. What matters to an edge about a candidate is its *port state* there:
/// for an op and one of its operands, the layout in which that candidate wants
/// the operand. The edge's matrix gives the cost between port states: for a
/// value from producer to user, the cheapest reshard. Wanted is the choice of
/// candidates with the least sum of node and edge costs.
///
///     x  --[reshard]-->  einsum  --[reshard]-->  add  -->  result
///        layout of x      81 ways                3 ways      fixed
///
/// # The method
///
/// First goes what can be decided exactly (Reduction.h): all of a chain
/// with residual bridges, as forward passes are; of a layer with its backward
/// pass a sixth of the nodes remains. Where these have few candidates, as on
/// one axis, tables of best answers decide them, too (Search.h).
///
/// Others by sequential tree-reweighted message passing (Messages.h),
/// which comes with a lower bound: it tells how far from the optimum the answer
/// can be. AutoParallel (github.com/meta-pytorch/autoparallel) found message
/// passing to match an integer program on the same kind of problem.
///
/// Between rounds candidates go that cannot be in a better choice than the best
/// one known, until the rest can be solved exactly (Gap.h). On one axis
/// and mostly on two the plan of a layer so is the best there is; where it is
/// not proven, large neighbourhoods were searched (Search.h), and it is
/// within a few percent of the bound.
///
/// # Repeated layers
///
/// A model is one layer many times. Nodes that look alike as far as a few steps
/// along the edges are taken for one: the problem over these classes, with
/// their costs and edges counted as often as they occur, is as small as a layer
/// or two (lifted inference: Kersting, Ahmadi and Natarajan, Counting Belief
/// Propagation, UAI 2009). It is solved as above. Then every node takes the
/// choice of its class, and all messages begin with those of the classes: a few
/// rounds tell how much any other choice could save, also one that is different
/// from layer to layer. A thousandth is not looked for; more is, as above. Last
/// comes a short descent: keep some nodes so that the others form a forest,
/// solve that exactly, and go on with another forest while it helps.
///
/// Deterministic: nodes in the order added, ties to the earlier candidate.

#ifndef TPOPT_SOLVER_PBQP_H
#define TPOPT_SOLVER_PBQP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace tp::pbqp {

/// Costs between the port states of the two ends of an edge. Infinite entries
/// forbid a pair.
struct CostMatrix {
  unsigned rows = 0, columns = 0;
  std::vector<double> values; ///< Row-major.

  CostMatrix(unsigned rows, unsigned columns)
      : rows(rows), columns(columns), values(size_t(rows) * columns) {}
  double &at(unsigned row, unsigned column) {
    return values[size_t(row) * columns + column];
  }
  double at(unsigned row, unsigned column) const {
    return values[size_t(row) * columns + column];
  }
};

class Problem {
public:
  struct Solution {
    std::vector<unsigned> labels; ///< The chosen candidate of each node.
    double cost = std::numeric_limits<double>::infinity();
    /// No choice can cost less than this.
    double lowerBound = -std::numeric_limits<double>::infinity();

    /// How much a better choice could save, as a share of all.
    double getGap() const {
      return cost > lowerBound ? (cost - lowerBound) / std::abs(cost) : 0;
    }
    /// Whether none could, but for rounding.
    bool isClosed() const { return getGap() <= kRounding; }
    static constexpr double kRounding = 1e-9;
    /// Takes another choice if it costs less.
    void improve(const Problem &problem, std::vector<unsigned> choice);
  };

  /// Makes room for so many, and for the candidates of all of them.
  void reserveNodes(size_t count, size_t candidates) {
    nodes.reserve(count);
    costs.reserve(candidates);
  }
  void reserveEdges(size_t count) { edges.reserve(count); }

  /// A node with one cost per candidate; returns its number. Messages run in
  /// the order of numbers: the closer to the data flow, the fewer it takes.
  unsigned addNode(llvm::ArrayRef<double> costs);
  /// Adds to each candidate of a node the cost of its port state: what an edge
  /// to a node without a choice amounts to.
  void addCosts(unsigned node, llvm::ArrayRef<uint16_t> ports,
                llvm::ArrayRef<double> costs);
  /// An edge from an earlier node to a later one. `fromPorts[c]` is the port
  /// state of candidate c of `from`: a row of `matrix`; `toPorts` its columns.
  /// Ports and matrix must outlive the problem: equal edges share them.
  void addEdge(unsigned from, llvm::ArrayRef<uint16_t> fromPorts, unsigned to,
               llvm::ArrayRef<uint16_t> toPorts, const CostMatrix &matrix);

  struct Effort {
    unsigned sweeps = 200; ///< Rounds of messages, at most.
    double work = 6e6;     ///< Candidates that a round of search looks at.
  };
  Solution solve() const { return solve(Effort()); }
  Solution solve(Effort effort) const;
  /// What a choice costs.
  double evaluate(llvm::ArrayRef<unsigned> labels) const;
  /// How much dearer than the choice `labels` each candidate of `node` would
  /// be: neighbours for which `adapts` holds follow, all else stays.
  std::vector<double>
  getRegrets(llvm::ArrayRef<unsigned> labels, unsigned node,
             llvm::function_ref<bool(unsigned)> adapts) const;

private:
  struct Edge {
    unsigned nodes[2];
    llvm::ArrayRef<uint16_t> ports[2];
    const CostMatrix *matrix;

    double cost(unsigned port0, unsigned port1) const {
      return matrix->at(port0, port1);
    }
    unsigned getNumPorts(unsigned end) const {
      return end == 0 ? matrix->rows : matrix->columns;
    }
  };
  struct Node {
    size_t costs; ///< Where in `costs` its candidates begin.
    unsigned numCandidates;
    /// Edges to earlier and later nodes.
    unsigned backward = 0, forward = 0;
    llvm::SmallVector<unsigned, 4> edges;
  };

  llvm::ArrayRef<double> getCosts(unsigned number) const {
    return llvm::ArrayRef(costs).slice(nodes[number].costs,
                                       nodes[number].numCandidates);
  }
  double getNumEntries() const;
  struct Lifted;
  class Compaction;
  class Gap;
  class Messages;
  class Reduction;
  class Restriction;
  class Search;
  std::vector<uint64_t> refineColours() const;
  std::unique_ptr<Lifted> lift() const;
  Solution solveCore(Effort effort) const;
  void descend(Solution &solution) const;
  void optimizeForest(llvm::ArrayRef<unsigned> order,
                      std::vector<unsigned> &labels) const;
  void answerParent(unsigned child, unsigned up,
                    llvm::ArrayRef<const Edge *> joined,
                    std::vector<double> &sums) const;

  llvm::SmallVector<Node, 0> nodes; ///< Moved as it grows, not copied.
  std::vector<Edge> edges;
  std::vector<double> costs;
};

} // namespace tp::pbqp

#endif // TPOPT_SOLVER_PBQP_H
