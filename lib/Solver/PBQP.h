// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A solver for Partitioned Boolean Quadratic Programming (PBQP).
///
/// # The problem
///
/// A graph is given. Each node has a list of options, and a vector with the
/// cost of each option. Each edge has a matrix with the cost of each pair of
/// options at its two ends. A selection takes one option of each node. Its cost
/// is the sum of one entry per vector and one entry per matrix. The goal is a
/// selection of least cost. An infinite entry forbids its option or its pair.
///
/// Two nodes a and b with two options each, and one edge:
///
///     costs of a: (0, 2)      edge:        b = 0   b = 1
///     costs of b: (1, 0)             a = 0   4       6
///                                    a = 1   3       0
///
///     (a, b) = (0, 0): 0 + 1 + 4 = 5      (1, 0): 2 + 1 + 3 = 6
///              (0, 1): 0 + 0 + 6 = 6      (1, 1): 2 + 0 + 0 = 2
///
/// The optimum is (1, 1), though option 0 is the cheapest of a by itself.
///
/// Options that an edge does not distinguish share a row or a column: `addEdge`
/// takes the row of each option of one end and the column of each option of the
/// other.
///
/// Costs are doubles in any unit: finite, or plus infinity. They may be
/// negative. Every node has at least one option.
///
/// # The method
///
/// PBQP is NP-hard. The solver proves optima where it can, and otherwise
/// returns a good selection with a lower bound on the cost of all selections.
///
/// 1. Reductions R0, RI and RII remove nodes of degree zero, one and two
///    without loss (Scholz and Eckstein, Register Allocation for Irregular
///    Architectures, LCTES 2002; Hames and Scholz, Nearly Optimal Register
///    Allocation with PBQP, JMLC 2006). See Reduction.h. The other steps solve
///    the remaining problem, the core. There is no heuristic reduction RN.
/// 2. Bucket elimination solves the core if its tables are small enough
///    (Dechter, Bucket Elimination: A Unifying Framework for Reasoning,
///    Artificial Intelligence 113, 1999). See BucketElimination.h.
/// 3. Lifting merges nodes with equal surroundings if that makes the core much
///    smaller (Kersting, Ahmadi and Natarajan, Counting Belief Propagation, UAI
///    2009). The solution of the merged problem is the start of step 4. See
///    Lifting.h.
/// 4. Message passing raises a lower bound (Kolmogorov, Convergent
///    Tree-Reweighted Message Passing for Energy Minimization, PAMI 2006).
///    Options that the bound excludes from every better selection are removed,
///    until bucket elimination can solve the rest. See MessagePassing.h and
///    ReducedCostFixing.h.
/// 5. If a gap remains, large neighbourhood search improves the selection.
///    After lifting, the exact optimization of one forest of nodes after
///    another improves it as well. See NeighbourhoodSearch.h and
///    ForestDescent.h.
///
/// # Complexity
///
/// For nodes of k options, R0, RI and RII take O(k), O(k^2) and O(k^3) time per
/// node, so trees and series-parallel graphs are solved to the optimum in time
/// linear in the number of nodes. An iteration of message passing takes time
/// linear in the sum of the sizes of all matrices. `Effort` limits the number
/// of these iterations and the time of each exact attempt and each search.
///
/// # Determinism
///
/// Problems that are built in the same way have equal solutions. Nodes and
/// edges are handled in the order in which they were added, and among equal
/// options the earlier one is selected. There are no random numbers, threads or
/// clocks.

#ifndef TPOPT_SOLVER_PBQP_H
#define TPOPT_SOLVER_PBQP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace tp::solver {

/// The costs of an edge. Infinite entries forbid a pair.
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
    /// The selected option of each node.
    std::vector<unsigned> selection;
    /// The cost of the selection: `evaluate(selection)`. It is infinite if no
    /// selection of finite cost was found.
    double cost = std::numeric_limits<double>::infinity();
    /// A lower bound on the cost of all selections, up to a relative rounding
    /// error of about `kRounding`.
    double lowerBound = -std::numeric_limits<double>::infinity();

    /// The most that a better selection could save, as a share of `cost`.
    double getGap() const {
      return cost > lowerBound ? (cost - lowerBound) / std::abs(cost) : 0;
    }
    /// Returns true if the selection is proven to be optimal, except for
    /// rounding.
    bool isClosed() const { return getGap() <= kRounding; }
    static constexpr double kRounding = 1e-9;
    /// Replaces the selection by `other` if that costs less.
    void improve(const Problem &problem, std::vector<unsigned> other);
  };

  /// Reserves memory for `count` nodes with `options` options in total.
  void reserveNodes(size_t count, size_t options) {
    nodes.reserve(count);
    costs.reserve(options);
  }
  void reserveEdges(size_t count) { edges.reserve(count); }

  /// Adds a node with one cost per option. Returns the number of the node.
  /// Messages are passed in the order of these numbers: fewer iterations are
  /// needed if neighbours in the graph have numbers close to each other.
  unsigned addNode(llvm::ArrayRef<double> costs);
  /// Adds `more[indices[c]]` to the cost of each option c of a node. The effect
  /// is that of an edge to a node with one option.
  void addCosts(unsigned node, llvm::ArrayRef<uint16_t> indices,
                llvm::ArrayRef<double> more);
  /// Adds an edge from a node to a node with a higher number. Options a of
  /// `from` and b of `to` cost `matrix.at(rows[a], columns[b])` together. Two
  /// nodes may have several edges. `rows`, `columns` and `matrix` must outlive
  /// the problem. Edges with equal lists or matrices should share them: the
  /// solver recognizes equal edges by their addresses, and computes their
  /// results only once.
  void addEdge(unsigned from, llvm::ArrayRef<uint16_t> rows, unsigned to,
               llvm::ArrayRef<uint16_t> columns, const CostMatrix &matrix);

  struct Effort {
    /// The maximum number of iterations of message passing.
    unsigned sweeps = 200;
    /// The maximum number of sums, before minimization, in all tables of one
    /// bucket elimination. An exact attempt is one bucket elimination, and so
    /// is each step of a search.
    double work = 6e6;
  };
  Solution solve() const { return solve(Effort()); }
  Solution solve(Effort effort) const;
  /// The cost of a selection.
  double evaluate(llvm::ArrayRef<unsigned> selection) const;
  /// The amount by which the cost of `selection` would rise for each option of
  /// `node`, if each neighbour for which `adapts` holds then takes its own best
  /// option and all other nodes keep theirs.
  std::vector<double>
  getRegrets(llvm::ArrayRef<unsigned> selection, unsigned node,
             llvm::function_ref<bool(unsigned)> adapts) const;

private:
  /// The ends of an edge are 0 and 1. The index of an option at its end is its
  /// row in the matrix at end 0, and its column at end 1.
  struct Edge {
    unsigned nodes[2];
    llvm::ArrayRef<uint16_t> indices[2]; ///< Indexed by end and option.
    const CostMatrix *matrix;

    unsigned getNumIndices(unsigned end) const {
      return end == 0 ? matrix->rows : matrix->columns;
    }
    /// The end that `node` is at. Edges join two different nodes.
    unsigned getEnd(unsigned node) const { return nodes[0] == node ? 0 : 1; }
    unsigned getOther(unsigned node) const { return nodes[1 - getEnd(node)]; }
    /// The cost of one option of `node` and one of the other node.
    double getCost(unsigned node, unsigned option, unsigned otherOption) const {
      return getEnd(node) == 0
                 ? matrix->at(indices[0][option], indices[1][otherOption])
                 : matrix->at(indices[0][otherOption], indices[1][option]);
    }
  };
  struct Node {
    size_t firstCost; ///< The index in `costs` of the cost of its first option.
    unsigned numOptions;
    /// The number of edges to nodes with lower numbers, and the number of edges
    /// to nodes with higher numbers.
    unsigned numBackward = 0, numForward = 0;
    llvm::SmallVector<unsigned, 4> edges;
  };

  llvm::ArrayRef<double> getCosts(unsigned node) const {
    return llvm::ArrayRef(costs).slice(nodes[node].firstCost,
                                       nodes[node].numOptions);
  }
  /// The sum of the sizes of the matrices of all edges.
  double getNumEntries() const;
  Solution solveCore(Effort effort) const;

  // The parts of the solver. Each is described in its header in lib/Solver.
  class BucketElimination;
  class Compaction;
  class EliminationOrder;
  class ForestDescent;
  class Lifting;
  class MessagePassing;
  class NeighbourhoodSearch;
  class ReducedCostFixing;
  class Reduction;
  class Restriction;

  llvm::SmallVector<Node, 0> nodes; ///< Moved, not copied, when it grows.
  std::vector<Edge> edges;
  std::vector<double> costs; ///< For the options of all nodes.
};

} // namespace tp::solver

#endif // TPOPT_SOLVER_PBQP_H
