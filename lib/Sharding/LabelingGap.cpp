// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LabelingGap.h"

#include "LabelingLift.h"
#include "LabelingRestriction.h"
#include "LabelingSearch.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace tp;

/// Rounds of messages between attempts.
static constexpr unsigned kRounds = 40;
/// The first guess, as a share of the bound, and how far one is from the next.
static constexpr double kFirstGuess = 0.004, kStep = 2;
/// What an attempt may look at in any case: about a millisecond.
static constexpr double kLeastWork = 1 << 19;

Labeling::Gap::Gap(const Labeling &problem)
    : problem(problem), messages(problem) {
  solution.labels.assign(problem.nodes.size(), 0);
  solution.cost = problem.evaluate(solution.labels);
}

Labeling::Gap::Gap(const Labeling &problem, const Lifted &lifted,
                   const Gap &classes, llvm::ArrayRef<unsigned> labels)
    : problem(problem), messages(problem, lifted, classes.messages) {
  solution.labels = lifted.expand(labels);
  solution.cost = problem.evaluate(solution.labels);
}

Labeling::Gap::Gap(const Gap &whole, const Restriction &restriction)
    : problem(restriction.rest), messages(whole.messages, restriction) {
  solution = whole.solution;
  solution.labels = restriction.narrow(whole.solution.labels);
}

/// Up to which excess candidates can be in a better choice.
double Labeling::Gap::getSlack() const {
  // A margin, for sums are rounded.
  return solution.cost - bound + 1e-9 * std::abs(solution.cost);
}

/// Solves what candidates of at most such an excess leave, if that takes no
/// more than `work`. Returns whether it did.
bool Labeling::Gap::attempt(double most, double work) {
  std::vector<unsigned> counts;
  for (const Node &node : problem.nodes)
    counts.push_back(llvm::count_if(
        llvm::ArrayRef(excess).slice(node.costs, node.numCandidates),
        [&](double above) { return above <= most; }));
  // Nothing is left where costs are without end, or as exact as rounding lets.
  if (llvm::is_contained(counts, 0u))
    return false;
  auto order = Search::findExactOrder(problem, std::move(counts), work);
  if (!order)
    return false;
  Restriction restriction(problem, excess, most);
  std::vector<unsigned> labels(problem.nodes.size(), 0);
  labels = Search(restriction.rest, work).run(*order, labels);
  solution.improve(problem, restriction.expand(labels));
  if (solution.cost <= bound + most)
    solution.lowerBound = solution.cost;
  return true;
}

/// An attempt with as many candidates as it can afford.
void Labeling::Gap::guess(Means &means) {
  double cost = solution.cost;
  double work =
      std::min(means.work, std::max(kLeastWork, problem.getNumEntries()));
  if (means.guess == 0)
    means.guess = kFirstGuess * std::max(1.0, std::abs(solution.lowerBound));
  means.guess = std::min(means.guess, getSlack() / kStep);
  constexpr unsigned kMost = 20;
  for (unsigned i = 0; i < kMost && !attempt(means.guess, work); ++i)
    means.guess /= kStep;
  // The same again would find the same.
  if (solution.cost == cost)
    means.guess *= kStep;
}

/// For what messages do not close.
Labeling::Solution Labeling::Gap::search(double work) {
  auto improve = [&](std::vector<unsigned> labels) {
    bool isBest = Search(problem, work).improve(labels);
    solution.improve(problem, std::move(labels));
    if (isBest)
      solution.lowerBound = solution.cost;
  };
  improve(solution.labels);
  // From what messages suggest the way may lead to a better choice.
  constexpr double kClose = 0.01;
  if (solution.getGap() > kClose)
    improve(messages.decode());
  return std::move(solution);
}

Labeling::Solution Labeling::Gap::close(Effort effort) {
  return close(getMeans(effort, /*content=*/0));
}

Labeling::Gap::Means Labeling::Gap::getMeans(Effort effort, double content) {
  return {std::max(1u, effort.sweeps), effort.work,
          std::min(kLeastWork, effort.work), /*guess=*/0, content};
}

Labeling::Solution Labeling::Gap::confirm(Effort effort) {
  constexpr unsigned kFew = 2;
  constexpr double kContent = 1e-3;
  // Rounds over all nodes cost more than those tables of one axis.
  constexpr double kTables = 5;
  bound = messages.pass(kFew, solution);
  if (solution.getGap() <= kContent)
    return std::move(solution);
  excess = messages.getExcess();
  if (attempt(getSlack(), kTables * effort.work))
    return std::move(solution);
  return close(getMeans(effort, kContent));
}

Labeling::Solution Labeling::Gap::close(Means means) {
  while (true) {
    double before = solution.lowerBound;
    unsigned rounds = std::min(means.sweeps, kRounds);
    means.sweeps -= rounds;
    bound = messages.pass(rounds, solution);
    if (solution.isClosed() || solution.getGap() <= means.content)
      return std::move(solution);
    excess = messages.getExcess();
    if (attempt(getSlack(), means.proof))
      return std::move(solution);
    // A bound that creeps will not get there, and nobody knows costs as exactly
    // as what is left in the end.
    constexpr double kProgress = 1e-5, kEnough = 1e-4;
    bool isIdle =
        !(solution.lowerBound - before > kProgress * std::abs(solution.cost));
    if (isIdle || means.sweeps == 0 || solution.getGap() <= kEnough)
      return search(means.work);
    guess(means);
    if (solution.isClosed())
      return std::move(solution);
    means.proof = std::min(2 * means.proof, means.work);

    constexpr double kWorthwhile = 0.9;
    Restriction restriction(problem, excess, getSlack());
    if (restriction.rest.getNumEntries() >
        kWorthwhile * problem.getNumEntries())
      continue;
    Solution rest = Gap(*this, restriction).close(means);
    rest.labels = restriction.expand(rest.labels);
    return rest;
  }
}
