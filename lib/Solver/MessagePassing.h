// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sequential tree-reweighted message passing, TRW-S (Kolmogorov, Convergent
// Tree-Reweighted Message Passing for Energy Minimization, PAMI 2006).
//
// It computes a lower bound on the cost of all selections. An iteration visits
// the nodes in the order of their numbers, and then in reverse. A visited node
// adds up its costs and the messages from all its neighbours. The sums are its
// beliefs, one per option. It sends a message to each neighbour that is yet to
// be visited. A message has an entry for each row or column of the edge's
// matrix at the other end: the least sum of the edge's cost and a share of the
// beliefs, minus the message that came from there. The least entry of a message
// is subtracted from the message and added to the bound.
//
//     costs of a: (0, 2)      edge:   | 4  6 |      costs of b: (1, 0)
//                                     | 3  0 |
//
//     a to b: (min(0+4, 2+3), min(0+6, 2+0)) = (4, 2) = 2 + (2, 0)   bound: 2
//     b:      (1, 0) + (2, 0) = (3, 0), with least entry 0           bound: 2
//
// On trees the bound becomes the optimum, here 2. In general the edges are
// covered by chains along which the numbers of nodes rise. A node divides its
// beliefs equally among the chains through it, and the bound is the sum of the
// optima of the chains. It never falls from one iteration to the next.
//
// But the bound rises slowly where costs must travel along many nodes. So
// before each iteration the messages are extrapolated in the direction of their
// last change. The longer the bound has been rising, the further they move
// (Nesterov, A Method for Solving the Convex Programming Problem with
// Convergence Rate O(1/k^2), 1983). That can lower the bound. If it does,
// extrapolation is restarted (O'Donoghue and Candes, Adaptive Restart for
// Accelerated Gradient Schemes, 2015). This is sound, because a sweep yields a
// valid bound whatever messages it begins with.
//
// The bounds that are reported are lowered by the rounding errors they may
// contain. That only matters if the optimum is very small compared with the
// costs that it avoids.

#ifndef TPOPT_LIB_SOLVER_MESSAGEPASSING_H
#define TPOPT_LIB_SOLVER_MESSAGEPASSING_H

#include "lib/Solver/PBQP.h"

#include <array>
#include <map>

namespace tp::solver {

class Problem::MessagePassing {
public:
  /// Begins with all messages zero.
  explicit MessagePassing(const Problem &problem);
  /// Begins with the messages of `whole`, which solves the problem without the
  /// restriction.
  MessagePassing(const MessagePassing &whole, const Restriction &restriction);
  /// Begins with the messages of `classes`, which solves the problem whose
  /// nodes are the classes.
  MessagePassing(const Problem &problem, const Lifting &lifting,
                 const MessagePassing &classes);

  /// Runs `count` iterations, or fewer if the gap of `solution` reaches
  /// `acceptableGap` earlier. `solution` gets the best selection that the
  /// messages suggest, and the highest bound. Returns the bound after the
  /// forward sweep of the last iteration, to which `getReducedCosts` refers.
  double iterate(unsigned count, double acceptableGap, Solution &solution);

  /// A bound from the current messages, by a forward sweep.
  double getBound();

  /// A selection: each node, in order, takes the best option given the options
  /// of the earlier nodes and the messages of the later ones.
  std::vector<unsigned> decode();

  /// Indexed by option, in the order of the problem's costs: the belief minus
  /// the least belief of the node. Every selection with this option costs at
  /// least this difference plus the bound that `iterate` returned.
  std::vector<double> getReducedCosts() const;

private:
  void extrapolate();
  double getRoundingError() const;
  double sweep(bool forward);
  void computeBeliefs(unsigned node);
  double sendMessage(unsigned edge, unsigned end, double share);

  const Problem &problem;
  std::vector<double> messages;
  /// The messages before the last iteration; empty before the first iteration.
  std::vector<double> previousMessages;
  unsigned numRising = 0; ///< Iterations since the bound last fell.
  double lastBound;       ///< The bound of the last iteration.
  /// Indexed by edge and end: the offset in `messages` of the message to that
  /// end. The message has one entry per row of the matrix at end 0, or per
  /// column at end 1.
  std::vector<std::array<size_t, 2>> offsets;
  /// Indexed by edge and end: the matrix with this end's indices as rows.
  std::vector<std::array<const CostMatrix *, 2>> matricesFrom;
  std::map<const CostMatrix *, CostMatrix> transposed;

  // Buffers.
  std::vector<double> beliefs;     ///< Those of the visited node.
  std::vector<double> bestBeliefs; ///< For each index at the message's edge.
};

} // namespace tp::solver

#endif // TPOPT_LIB_SOLVER_MESSAGEPASSING_H
