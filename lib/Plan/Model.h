// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A plan graph as a PBQP (lib/Solver/PBQP.h): choices are nodes, reshards the
// edges.

#ifndef TPOPT_PLAN_MODEL_H
#define TPOPT_PLAN_MODEL_H

#include "PlanGraph.h"

#include <optional>

namespace tp::plan {

/// A PBQP can express the costs of pairs of choices, but not of three or more.
/// So a value with several uses gets a node for one shared copy, in any layout.
/// Each use that needs a different layout pays for a reshard of that copy. The
/// cost is exact if at most one of the uses needs more than a slice of the
/// copy. Otherwise the cost is an upper bound, because equal reshards are
/// counted once per use.
class Model {
public:
  /// `space` and `graph` must outlive the model.
  Model(SearchSpace &space, const PlanGraph &graph);

  /// Solves the model; returns the cost of the solution, including preferences.
  double solve();
  /// After solve(): for each choice, the number of the chosen option.
  const Selection &getSelection() const { return selection; }
  bool isOptimal() const { return solution.isClosed(); }
  double getLowerBound() const { return solution.lowerBound + constant; }
  /// An upper bound on how much cheaper another selection can be; 0 if this one
  /// is optimal.
  double getGap() const {
    return isOptimal() ? 0 : solution.cost - solution.lowerBound;
  }

  /// After solve(): a different layout for a tensor, and how much the total
  /// cost would then rise, with shared copies chosen again and all other
  /// choices unchanged.
  struct Alternative {
    unsigned layout;
    double regret;
  };
  /// The best alternatives, cheapest first.
  std::vector<Alternative> getAlternatives(Port port, unsigned most) const;

private:
  /// One end of an edge: a node, and the layout of each of its options. There
  /// is no node if there is only one option.
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
  double constant = 0; ///< The cost that all selections share.
  std::vector<std::optional<unsigned>> nodes; ///< Indexed by choice.
  struct Shared {
    unsigned node;
    const LayoutList *layouts;
  };
  std::vector<std::optional<Shared>> shared; ///< Indexed by value.
  std::vector<uint16_t> identity;            ///< 0, 1, 2, ..
  Selection selection;
};

} // namespace tp::plan

#endif // TPOPT_PLAN_MODEL_H
