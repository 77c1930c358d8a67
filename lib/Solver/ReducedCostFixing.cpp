// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReducedCostFixing.h"

#include "BucketElimination.h"
#include "Infinity.h"
#include "Lifting.h"
#include "NeighbourhoodSearch.h"
#include "Restriction.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace tp;
using namespace tp::solver;

/// Iterations of message passing between attempts to remove options.
static constexpr unsigned kBatchSize = 8;
/// The least limit on the work of an exact attempt: about a millisecond.
static constexpr double kLeastWork = 1 << 19;

Problem::ReducedCostFixing::ReducedCostFixing(const Problem &problem)
    : problem(problem), messages(problem) {
  solution.selection.assign(problem.nodes.size(), 0);
  solution.cost = problem.evaluate(solution.selection);
}

Problem::ReducedCostFixing::ReducedCostFixing(
    const Problem &problem, const Lifting &lifting,
    const ReducedCostFixing &classes, llvm::ArrayRef<unsigned> classSelection)
    : problem(problem), messages(problem, lifting, classes.messages) {
  solution.selection = lifting.expand(classSelection);
  solution.cost = problem.evaluate(solution.selection);
}

Problem::ReducedCostFixing::ReducedCostFixing(const ReducedCostFixing &whole,
                                              const Restriction &restriction)
    : problem(restriction.rest), messages(whole.messages, restriction) {
  solution = whole.solution;
  solution.selection = restriction.narrow(whole.solution.selection);
}

//===----------------------------------------------------------------------===//
// Options by their reduced costs
//===----------------------------------------------------------------------===//

/// The largest possible reduced cost of an option in a better selection, or in
/// the best selection known.
double Problem::ReducedCostFixing::getLimit() const {
  if (!std::isfinite(solution.cost))
    return kInfinity;
  // A margin for the rounding of costs and reduced costs. Because of rounding,
  // options of the selection itself may exceed the limit, and must not be
  // removed.
  constexpr double kMargin = 1e-9;
  double limit = solution.cost - bound + kMargin * std::abs(solution.cost);
  for (auto [node, option] : llvm::zip_equal(problem.nodes, solution.selection))
    limit = std::max(limit, reducedCosts[node.firstCost + option]);
  return limit;
}

/// For each node, the number of options whose reduced cost is at most `limit`.
std::vector<unsigned>
Problem::ReducedCostFixing::countOptions(double limit) const {
  std::vector<unsigned> counts;
  for (const Node &node : problem.nodes)
    counts.push_back(llvm::count_if(
        llvm::ArrayRef(reducedCosts).slice(node.firstCost, node.numOptions),
        [&](double reducedCost) { return reducedCost <= limit; }));
  return counts;
}

/// Estimates the time of an iteration over the options whose reduced cost is at
/// most `limit`. Only the ratio of two results is meaningful.
double Problem::ReducedCostFixing::countPairs(double limit) const {
  double pairs = 0;
  for (double count : countOptions(limit))
    pairs += count * count;
  return pairs;
}

//===----------------------------------------------------------------------===//
// Exact attempts
//===----------------------------------------------------------------------===//

/// Solves the problem restricted to options whose reduced cost is at most
/// `limit`, unless that takes more than `work`. Returns whether it was solved.
bool Problem::ReducedCostFixing::solveExactly(double limit, double work) {
  std::vector<unsigned> counts = countOptions(limit);
  // A guessed limit may leave a node without options, and so may infinite
  // costs.
  if (llvm::is_contained(counts, 0u))
    return false;
  auto order = EliminationOrder::findExact(problem, counts, work);
  if (!order)
    return false;
  Restriction restriction(problem, reducedCosts, limit);
  std::vector<unsigned> first(problem.nodes.size(), 0);
  std::vector<unsigned> best =
      BucketElimination::run(restriction.rest, *order, first);
  solution.improve(problem, restriction.expand(best));
  // A selection that was not searched contains an option above the limit.
  if (solution.cost <= bound + limit)
    solution.lowerBound = solution.cost;
  return true;
}

/// Solves the problem restricted to as many of the best options as `searchWork`
/// allows.
void Problem::ReducedCostFixing::guess(Schedule &schedule) {
  double work = std::min(schedule.searchWork,
                         std::max(kLeastWork, problem.getNumEntries()));
  std::vector<double> sorted = reducedCosts;
  llvm::sort(sorted);
  constexpr unsigned kMaxTrials = 12;
  constexpr double kStep = 1.25;
  double mostLimit = getLimit();
  for (unsigned trial = 0; trial < kMaxTrials; ++trial) {
    size_t kept = problem.nodes.size() * (1 + schedule.spareOptions);
    double limit = sorted[std::min(kept, sorted.size()) - 1];
    if (solveExactly(std::min(limit, mostLimit), work))
      break;
    schedule.spareOptions /= kStep;
  }
  // The next guess keeps more options, as the same ones would give the same
  // result.
  schedule.spareOptions *= 2;
}

/// Calls guess(), and schedules the next guess. If this guess has found no
/// better selection, the interval between guesses doubles.
void Problem::ReducedCostFixing::guessAndReschedule(Schedule &schedule) {
  double cost = solution.cost;
  guess(schedule);
  bool hasHelped = solution.cost < cost;
  schedule.guessInterval = hasHelped ? kBatchSize : 2 * schedule.guessInterval;
  schedule.nextGuess = schedule.iterations + schedule.guessInterval;
  // The longer the bound has failed to prove an optimum, the more work an exact
  // attempt may take.
  schedule.exactWork = std::min(2 * schedule.exactWork, schedule.searchWork);
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

Problem::ReducedCostFixing::Schedule
Problem::ReducedCostFixing::makeSchedule(Effort effort, double acceptableGap) {
  Schedule schedule;
  schedule.maxIterations = std::max(1u, effort.sweeps);
  schedule.iterations = 0;
  schedule.acceptableGap = acceptableGap;
  schedule.searchWork = effort.work;
  schedule.exactWork = std::min(kLeastWork, effort.work);
  schedule.spareOptions = 2;
  schedule.guessInterval = kBatchSize;
  schedule.nextGuess = 0;
  schedule.checkedBound = -kInfinity;
  return schedule;
}

Problem::Solution Problem::ReducedCostFixing::solve(Effort effort) {
  return solve(makeSchedule(effort, Solution::kRounding));
}

Problem::Solution Problem::ReducedCostFixing::confirm(Effort effort) {
  constexpr unsigned kFewIterations = 2;
  constexpr double kAcceptableGap = 1e-3;
  // Computing small tables takes less time than an iteration over all nodes.
  constexpr double kWorkFactor = 5;
  solution.lowerBound = messages.getBound();
  if (solution.getGap() > kAcceptableGap)
    bound = messages.iterate(kFewIterations, kAcceptableGap, solution);
  if (solution.getGap() <= kAcceptableGap)
    return std::move(solution);
  reducedCosts = messages.getReducedCosts();
  if (solveExactly(getLimit(), kWorkFactor * effort.work))
    return std::move(solution);
  return solve(makeSchedule(effort, kAcceptableGap));
}

Problem::Solution Problem::ReducedCostFixing::solve(Schedule schedule) {
  // No guess is made while a batch of iterations raises the bound by more than
  // this share of the cost.
  constexpr double kFastRise = 0.004;
  // No input is known precisely enough for a smaller gap to be worth a search.
  constexpr double kNegligibleGap = 1e-4;
  // Removing options disturbs the extrapolation of messages, so options are
  // removed only if that reduces the work to this fraction or less.
  constexpr double kWorthwhileShare = 0.25;
  while (true) {
    double boundBefore = solution.lowerBound;
    unsigned batch =
        std::min(schedule.maxIterations - schedule.iterations, kBatchSize);
    schedule.iterations += batch;
    bound = messages.iterate(batch, schedule.acceptableGap, solution);
    if (solution.getGap() <= schedule.acceptableGap)
      return std::move(solution);
    reducedCosts = messages.getReducedCosts();
    if (solveExactly(getLimit(), schedule.exactWork))
      return std::move(solution);

    double cost = std::abs(solution.cost);
    if (solution.lowerBound - boundBefore <= kFastRise * cost &&
        schedule.iterations >= schedule.nextGuess)
      guessAndReschedule(schedule);
    bool isLast = isStalled(schedule, cost) ||
                  schedule.iterations == schedule.maxIterations;
    if (isLast && solution.getGap() <= kNegligibleGap)
      return std::move(solution);
    if (isLast ||
        !(countPairs(getLimit()) > kWorthwhileShare * countPairs(kInfinity)))
      return solveRestriction(schedule, isLast);
  }
}

/// Returns true if the bound rises too slowly to reach `cost`. Only checked
/// every few iterations.
bool Problem::ReducedCostFixing::isStalled(Schedule &schedule,
                                           double cost) const {
  constexpr unsigned kCheckInterval = 40;
  constexpr double kLeastRise = 1e-5;
  if (schedule.iterations % kCheckInterval != 0)
    return false;
  double rise = solution.lowerBound -
                std::exchange(schedule.checkedBound, solution.lowerBound);
  return !(rise > kLeastRise * cost);
}

/// Removes the options that no better selection has, and continues with the
/// rest: with search if `isLast`, otherwise with message passing.
Problem::Solution
Problem::ReducedCostFixing::solveRestriction(const Schedule &schedule,
                                             bool isLast) {
  Restriction restriction(problem, reducedCosts, getLimit());
  ReducedCostFixing rest(*this, restriction);
  Solution result =
      isLast ? rest.search(schedule.searchWork) : rest.solve(schedule);
  result.selection = restriction.expand(result.selection);
  return result;
}

Problem::Solution Problem::ReducedCostFixing::search(double work) {
  auto improveFrom = [&](std::vector<unsigned> selection) {
    bool isOptimal = NeighbourhoodSearch(problem, work).improve(selection);
    solution.improve(problem, std::move(selection));
    if (isOptimal)
      solution.lowerBound = solution.cost;
  };
  improveFrom(solution.selection);
  // A search from the selection that the messages suggest may be better.
  constexpr double kLargeGap = 0.01;
  if (solution.getGap() > kLargeGap)
    improveFrom(messages.decode());
  return std::move(solution);
}
