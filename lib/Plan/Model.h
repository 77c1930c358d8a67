// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A plan graph as a PBQP (lib/Solver/PBQP.h): choices are nodes, reshards the
// edges.

#ifndef TPOPT_PLAN_MODEL_H
#define TPOPT_PLAN_MODEL_H

#include "PlanGraph.h"

#include <optional>

namespace tp::plan {

/// A PBQP prices pairs of choices. Of a value with several uses, one more node
/// stands for the copy that they share, in any layout, and each use pays for
/// what it wants otherwise. That is the price of the program where at most one
/// of the uses wants more than slices of that copy; elsewhere it is an upper
/// bound, as copies for equal uses count as often as there are uses.
class Model {
public:
  /// Space and graph must outlive it.
  Model(SearchSpace &space, const PlanGraph &graph);

  /// Solves; returns the cost and the preferences of the solution.
  double solve();
  /// After solve(): an option of each choice.
  const Selection &getSelection() const { return selection; }
  bool isOptimal() const { return solution.isClosed(); }
  double getLowerBound() const { return solution.lowerBound + constant; }
  /// How much less another selection could cost at most; 0 if none costs less.
  double getGap() const {
    return isOptimal() ? 0 : solution.cost - solution.lowerBound;
  }

  /// After solve(): another layout of a tensor, and how much more everything
  /// would then cost, with copies made anew and all other choices as they are.
  struct Alternative {
    unsigned layout;
    double regret;
  };
  /// The best alternatives, cheapest first.
  std::vector<Alternative> getAlternatives(Port port, unsigned most) const;

private:
  /// One side of an edge: which option of a node means which layout. A layout
  /// that nobody chooses has no node.
  struct End {
    std::optional<unsigned> node;
    const LayoutList *layouts;
    llvm::ArrayRef<uint16_t> ports;
  };

  void addNodes();
  void addChoice(unsigned choice);
  void addShared(unsigned value);
  void connect(unsigned value);
  void connect(const PlanValue &value, End from, End to);
  End getEnd(Port port) const;

  SearchSpace &space;
  const PlanGraph &graph;
  solver::Problem problem;
  solver::Problem::Solution solution;
  double constant = 0; ///< What is not chosen costs this.
  std::vector<std::optional<unsigned>> nodes; ///< By choice.
  struct Shared {
    unsigned node;
    const LayoutList *layouts;
  };
  std::vector<std::optional<Shared>> shared; ///< By value.
  std::vector<uint16_t> identity;            ///< 0, 1, 2, ..
  Selection selection;
};

} // namespace tp::plan

#endif // TPOPT_PLAN_MODEL_H
