// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sequential tree-reweighted message passing (TRW-S, Kolmogorov, Convergent
// Tree-Reweighted Message Passing for Energy Minimization, PAMI 2006).
//
// The edges form chains along which the numbers of nodes rise. A node tells its
// neighbours what each of their port states would cost it and those behind it,
// and shares its own costs among the chains through it. The sum of what the
// chains cost at least bounds every choice, and does not fall.
//
// It creeps where costs travel far. So rounds go on in the direction of those
// before, the further the longer that has helped (Nesterov, A Method for
// Solving the Convex Programming Problem with Convergence Rate O(1/k^2), 1983),
// and begin anew once the bound has fallen (O'Donoghue and Candes, Adaptive
// Restart for Accelerated Gradient Schemes, 2015). Whatever messages a sweep
// begins with, its bound holds.
//
// Bounds are reported less what rounding can have added. That only matters
// where the best choice costs next to nothing beside the costs that it avoids.

#ifndef TPOPT_LIB_SOLVER_MESSAGES_H
#define TPOPT_LIB_SOLVER_MESSAGES_H

#include "tpopt/Solver/PBQP.h"

#include <array>
#include <map>

namespace tp::pbqp {

class Problem::Messages {
public:
  explicit Messages(const Problem &problem);
  /// Of a restriction: what its nodes were told in the whole.
  Messages(const Messages &whole, const Restriction &restriction);

  /// Of all nodes: what their classes were told, to begin with.
  Messages(const Problem &problem, const Lifted &lifted,
           const Messages &classes);

  /// So many rounds there and back, fewer if the gap between bound and choice
  /// is `content` before. `solution` gets the best choice that they suggest and
  /// the highest bound. Returns the bound half-way through the last round.
  double pass(unsigned rounds, double content, Solution &solution);

  /// The bound of the messages there are: half a round.
  double getBound();

  /// A choice: nodes decide one after the other, by what the earlier ones did
  /// and the later ones say.
  std::vector<unsigned> decode();

  /// How far above the bound half-way through the last round every choice with
  /// a candidate is at least. Numbered as costs are.
  std::vector<double> getExcess() const;

private:
  void extrapolate();
  double getRounding() const;
  double sweep(bool forward);
  void collect(unsigned node);
  void send(unsigned edge, unsigned end, double share);

  const Problem &problem;
  std::vector<double> values;
  /// What these were before the last round, if there was one.
  std::vector<double> before;
  unsigned numRises = 0; ///< Rounds since one that lowered the bound.
  double reached;        ///< The bound after the last round.
  /// By edge and end: where in `values` stands what the other end says about
  /// each port state of this end.
  std::vector<std::array<size_t, 2>> places;
  /// By edge and end: the costs with a row for each port state of this end.
  std::vector<std::array<const CostMatrix *, 2>> rowsOf;
  std::map<const CostMatrix *, CostMatrix> turned;
  /// Of the node at hand, and of the port states of its edge at hand.
  std::vector<double> belief, best;
};

} // namespace tp::pbqp

#endif // TPOPT_LIB_SOLVER_MESSAGES_H
