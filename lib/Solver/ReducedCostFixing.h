// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Closing the gap between the best selection known and the lower bound.
//
// Message passing raises the bound, and yields a reduced cost of each option:
// every selection with this option costs at least the bound plus the reduced
// cost. Let the bound be 100 and the best selection known cost 104. Then an
// option with reduced cost 5 cannot be in a better selection, and is removed.
// Message passing continues with the remaining options. This is reduced cost
// fixing, as in integer programming. In weighted constraint satisfaction it is
// node consistency (Larrosa, Node and Arc Consistency in Weighted CSP, AAAI
// 2002).
//
// Once few options are left, bucket elimination solves the rest exactly (as in
// Savchynskyy et al., Global MAP-Optimality by Shrinking the Combinatorial
// Search Area with Convex Relaxation, NIPS 2013, for the part of a problem that
// the bound does not decide).
//
// The solver can also try this earlier, with a guessed limit. In the example, a
// limit below 4 leaves fewer options. If the limit is 2, and the best selection
// of the remaining options costs at most 102, then it is optimal: all other
// selections have an option above the limit. If it costs more, it is often
// still better than the best one known, so that more options can be removed.
//
//     bound                     guess       best selection known
//     |---o-o--o-ooo---o--o-----|--o-oo--o--|-----o---oo-o--->  reduced costs
//      \____ solved exactly ___/             \___ removed ___/
//
// If neither the bound nor the guesses make progress, large neighbourhood
// search improves the selection.

#ifndef TPOPT_LIB_SOLVER_REDUCEDCOSTFIXING_H
#define TPOPT_LIB_SOLVER_REDUCEDCOSTFIXING_H

#include "MessagePassing.h"

namespace tp::solver {

class Problem::ReducedCostFixing {
public:
  /// Begins with the selection of the first option of each node, and with all
  /// messages zero.
  explicit ReducedCostFixing(const Problem &problem);
  /// Begins with `classSelection`, expanded to the nodes of the classes, and
  /// with the messages of `classes`.
  ReducedCostFixing(const Problem &problem, const Lifting &lifting,
                    const ReducedCostFixing &classes,
                    llvm::ArrayRef<unsigned> classSelection);

  Solution solve(Effort effort);
  /// Like solve(), but for a starting selection that is probably among the
  /// best. A few iterations may prove that it is, and a relative gap of 1/1000
  /// is accepted.
  Solution confirm(Effort effort);

private:
  /// The limits on the effort, and when the next guess is due.
  struct Schedule {
    unsigned maxIterations;
    unsigned iterations; ///< Iterations so far.
    double acceptableGap;
    double searchWork;   ///< The limit for a guess or a step of search.
    double exactWork;    ///< The limit for an exact attempt.
    double spareOptions; ///< Options per node in a guess, beyond one.
    /// The number of iterations between guesses, and the iteration of the next
    /// one.
    unsigned guessInterval, nextGuess;
    double checkedBound; ///< The bound when its rise was last checked.
  };
  static Schedule makeSchedule(Effort effort, double acceptableGap);

  /// Continues the work of `whole` on a restriction of its problem.
  ReducedCostFixing(const ReducedCostFixing &whole,
                    const Restriction &restriction);
  Solution solve(Schedule schedule);
  Solution solveRestriction(const Schedule &schedule, bool isLast);
  Solution search(double work);
  bool solveExactly(double limit, double work);
  void guess(Schedule &schedule);
  void guessAndReschedule(Schedule &schedule);
  bool isStalled(Schedule &schedule, double cost) const;

  double getLimit() const;
  std::vector<unsigned> countOptions(double limit) const;
  double countPairs(double limit) const;

  const Problem &problem;
  MessagePassing messages;
  Solution solution;
  /// The bound that the reduced costs refer to.
  double bound = 0;
  std::vector<double> reducedCosts; ///< In the order of the problem's costs.
};

} // namespace tp::solver

#endif // TPOPT_LIB_SOLVER_REDUCEDCOSTFIXING_H
