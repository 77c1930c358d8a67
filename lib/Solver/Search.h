// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Better choices around a given one.
//
// A round keeps what a few nodes have and finds the best choice of all others
// exactly, by bucket elimination (Dechter, Artificial Intelligence 113, 1999):
// a node goes when its best answer to every choice of its neighbours stands in
// a table. Where every table would be too large, a node is kept, in the next
// round another one. A round that keeps none has found the optimum.

#ifndef TPOPT_LIB_SOLVER_SEARCH_H
#define TPOPT_LIB_SOLVER_SEARCH_H

#include "tpopt/Solver/PBQP.h"

#include <deque>
#include <optional>

namespace tp::pbqp {

class Problem::Search {
public:
  /// What becomes of the nodes, one after the other. Those that come behind the
  /// end of the budget are not there, and stay as they are.
  struct Order {
    struct Step {
      unsigned node;
      bool isKept;
      llvm::SmallVector<unsigned, 4> neighbours; ///< Of those still there.
    };
    std::vector<Step> steps;
    double work = 0;
    bool isExact = true; ///< Nothing is kept, within the budget.
  };

  /// `budget`: how many candidates a round may look at.
  Search(const Problem &problem, double budget);

  /// The best choice of all, none if that is more to look at than `budget`.
  static std::optional<std::vector<unsigned>> solve(const Problem &problem,
                                                    double budget);

  /// That of a round which keeps nothing, if nodes had only so many candidates.
  static std::optional<Order> findExactOrder(const Problem &problem,
                                             std::vector<unsigned> counts,
                                             double budget);

  /// The best choice of those that agree with `labels` on what is kept.
  std::vector<unsigned> run(const Order &order,
                            llvm::ArrayRef<unsigned> labels);

  /// Makes a choice cheaper, until some rounds in a row did not. Returns
  /// whether it is the cheapest.
  bool improve(std::vector<unsigned> &labels);

private:
  /// How a choice of one node moves in a table.
  struct Axis {
    unsigned node;
    const uint16_t *ports; ///< Null: a candidate stands for itself.
    size_t stride;
    size_t getOffset(unsigned candidate) const {
      return (ports ? ports[candidate] : candidate) * stride;
    }
  };
  struct Table {
    const double *values;
    llvm::SmallVector<Axis, 4> axes;
  };

  class Answers;

  Search(const Problem &problem, std::vector<unsigned> counts, double budget);
  /// Which node goes next: the one that brings the fewest new pairs of
  /// neighbours together (Kjaerulff, 1990), or the one with the smallest table.
  enum class Rule { Fill, Work };
  Order findOrder() const;
  Order findOrder(Rule rule) const;
  void start();
  void keep(unsigned node, unsigned label);
  void eliminate(unsigned node, llvm::SmallVector<unsigned, 4> neighbours);
  void decide(const Order &order, std::vector<unsigned> &labels) const;

  const Problem &problem;
  double budget;
  std::vector<unsigned> counts; ///< Candidates, by node.
  /// What a table may take to fill, in candidates looked at.
  double largest;
  std::vector<unsigned> timesKept;

  // Of a round.
  std::deque<Table> tables;
  std::deque<std::vector<double>> storage;
  std::vector<llvm::SmallVector<Table *, 4>> tablesOf; ///< By node.
};

} // namespace tp::pbqp

#endif // TPOPT_LIB_SOLVER_SEARCH_H
