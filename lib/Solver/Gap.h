// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Closing the gap between the best choice known and the bound for all choices.
//
// Messages raise the bound. They also tell how far above it every choice with a
// certain candidate is, its excess, and that is put to use twice:
//
//   What is above the best choice known goes, and messages go on with what is
//   left (reduced cost fixing, as in integer programming; with messages:
//   Savchynskyy et al., Global MAP-Optimality by Shrinking the Combinatorial
//   Search Area with Convex Relaxation, NIPS 2013).
//
//   What is left when candidates are dropped already above a guess is solved
//   exactly (Search.h). Should the best choice in it be within the
//   guess, it is the best of all; if not, it is seldom bad, and lets the next
//   round drop more.
//
//     bound                     guess       best choice known
//     |---o-o--o-ooo---o--o-----|--o-oo--o--|-----o---oo-o--->  excess
//      \____ solved exactly ___/             \___ dropped ___/

#ifndef TPOPT_LIB_SOLVER_GAP_H
#define TPOPT_LIB_SOLVER_GAP_H

#include "Messages.h"

namespace tp::pbqp {

class Problem::Gap {
public:
  /// `problem` with any choice for it.
  explicit Gap(const Problem &problem);
  /// `problem` with the choice `labels` for its classes, and what closing their
  /// gap has found out.
  Gap(const Problem &problem, const Lifted &lifted, const Gap &classes,
      llvm::ArrayRef<unsigned> labels);

  Solution close(Effort effort);
  /// The same where a choice is known that is among the best: a few rounds may
  /// tell so, and it is good enough if no other saves a thousandth.
  Solution confirm(Effort effort);

private:
  /// What a gap may still cost, and has learnt; handed on with what is left.
  struct Means {
    unsigned sweeps;
    double work;     ///< Of a search.
    double proof;    ///< Of an attempt that settles it. Grows.
    double spare;    ///< Candidates of a guess, by node and but for one.
    double content;  ///< The gap that is small enough.
    unsigned rounds; ///< Spent so far.
    /// Rounds from one guess to the next, longer after vain ones, and when that
    /// is.
    unsigned pause, nextGuess;
    double reached; ///< The bound when it was last looked at.
  };

  static Means getMeans(Effort effort, double content);
  Gap(const Gap &whole, const Restriction &restriction);
  Solution close(Means means);
  double getSlack() const;
  std::vector<unsigned> count(double most) const;
  double countPairs(double most) const;
  bool attempt(double most, double work);
  void guess(Means &means);
  Solution search(double work);

  const Problem &problem;
  Messages messages;
  Solution solution;
  /// By the last messages: a bound, and above it the excess of candidates.
  double bound = 0;
  std::vector<double> excess;
};

} // namespace tp::pbqp

#endif // TPOPT_LIB_SOLVER_GAP_H
