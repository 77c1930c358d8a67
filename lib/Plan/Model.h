// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A plan graph as a PBQP (lib/Solver/PBQP.h): choices are nodes, reshards the
// edges.

#ifndef TPOPT_PLAN_MODEL_H
#define TPOPT_PLAN_MODEL_H

#include "PlanGraph.h"

#include <optional>

namespace tp::plan {

/// A PBQP prices pairs of choices. A value with several uses gets an additional
/// node for the copy that they share, in any layout, and each use that wants
/// another layout pays for it. That is the price of the program if at most one
/// of the uses wants more than slices of that copy; otherwise it is an upper
/// bound, as copies for equal uses are counted once per use.
class Model {
public:
  /// Space and graph must outlive the model.
  Model(SearchSpace &space, const PlanGraph &graph);

  /// Solves the model; returns the cost of the solution, including preferences.
  double solve();
  /// After solve(): an option of each choice.
  const Selection &getSelection() const { return selection; }
  bool isOptimal() const { return solution.isClosed(); }
  double getLowerBound() const { return solution.lowerBound + constant; }
  /// An upper bound on how much cheaper another selection can be; 0 if this one
  /// is optimal.
  double getGap() const {
    return isOptimal() ? 0 : solution.cost - solution.lowerBound;
  }

  /// After solve(): another layout of a tensor, and how much the total cost
  /// would then rise, with copies made anew and all other choices unchanged.
  struct Alternative {
    unsigned layout;
    double regret;
  };
  /// The best alternatives, cheapest first.
  std::vector<Alternative> getAlternatives(Port port, unsigned most) const;

private:
  /// One side of an edge: the layout for each option of a node. If the layout
  /// is not chosen, there is no node.
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
  double constant = 0; ///< The cost of everything that is not chosen.
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
