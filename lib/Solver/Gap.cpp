// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Gap.h"

#include "Lift.h"
#include "Restriction.h"
#include "Search.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

using namespace tp;
using namespace tp::pbqp;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Rounds of messages between attempts, and until it is asked whether they get
/// anywhere.
static constexpr unsigned kRounds = 8, kPatience = 40;
/// What an attempt may look at in any case: about a millisecond.
static constexpr double kLeastWork = 1 << 19;

Problem::Gap::Gap(const Problem &problem)
    : problem(problem), messages(problem) {
  solution.labels.assign(problem.nodes.size(), 0);
  solution.cost = problem.evaluate(solution.labels);
}

Problem::Gap::Gap(const Problem &problem, const Lifted &lifted,
                  const Gap &classes, llvm::ArrayRef<unsigned> labels)
    : problem(problem), messages(problem, lifted, classes.messages) {
  solution.labels = lifted.expand(labels);
  solution.cost = problem.evaluate(solution.labels);
}

Problem::Gap::Gap(const Gap &whole, const Restriction &restriction)
    : problem(restriction.rest), messages(whole.messages, restriction) {
  solution = whole.solution;
  solution.labels = restriction.narrow(whole.solution.labels);
}

/// Up to which excess candidates can be in a better choice. The best choice
/// known is always within it.
double Problem::Gap::getSlack() const {
  if (!std::isfinite(solution.cost))
    return kInfinity;
  // The margin covers the rounding of costs and excesses.
  double slack = solution.cost - bound + 1e-9 * std::abs(solution.cost);
  for (auto [node, label] : llvm::zip_equal(problem.nodes, solution.labels))
    slack = std::max(slack, excess[node.costs + label]);
  return slack;
}

/// How many candidates with at most such an excess each node has.
std::vector<unsigned> Problem::Gap::count(double most) const {
  std::vector<unsigned> counts;
  for (const Node &node : problem.nodes)
    counts.push_back(llvm::count_if(
        llvm::ArrayRef(excess).slice(node.costs, node.numCandidates),
        [&](double above) { return above <= most; }));
  return counts;
}

/// What a round of messages looks at if it is about these, but for a factor.
double Problem::Gap::countPairs(double most) const {
  double pairs = 0;
  for (double number : count(most))
    pairs += number * number;
  return pairs;
}

/// Solves what candidates of at most such an excess leave, if that takes no
/// more than `work`. Returns whether it did.
bool Problem::Gap::attempt(double most, double work) {
  std::vector<unsigned> counts = count(most);
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
void Problem::Gap::guess(Means &means) {
  double work =
      std::min(means.work, std::max(kLeastWork, problem.getNumEntries()));
  std::vector<double> sorted = excess;
  llvm::sort(sorted);
  constexpr unsigned kMost = 12;
  constexpr double kStep = 1.25;
  for (unsigned i = 0; i < kMost; ++i, means.spare /= kStep) {
    size_t kept = problem.nodes.size() * (1 + means.spare);
    double most = sorted[std::min(kept, sorted.size()) - 1];
    if (attempt(std::min(most, getSlack()), work))
      break;
  }
  // The same again would find the same.
  means.spare *= 2;
}

/// For what messages do not close.
Problem::Solution Problem::Gap::search(double work) {
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

Problem::Solution Problem::Gap::close(Effort effort) {
  return close(getMeans(effort, Solution::kRounding));
}

Problem::Gap::Means Problem::Gap::getMeans(Effort effort, double content) {
  constexpr double kFirstSpare = 2;
  return {std::max(1u, effort.sweeps),
          effort.work,
          std::min(kLeastWork, effort.work),
          kFirstSpare,
          content,
          /*rounds=*/0,
          /*pause=*/kRounds,
          /*nextGuess=*/0,
          /*reached=*/-kInfinity};
}

Problem::Solution Problem::Gap::confirm(Effort effort) {
  constexpr unsigned kFew = 2;
  constexpr double kContent = 1e-3;
  // Rounds over all nodes cost more than those tables of one axis.
  constexpr double kTables = 5;
  solution.lowerBound = messages.getBound();
  if (solution.getGap() > kContent)
    bound = messages.pass(kFew, kContent, solution);
  if (solution.getGap() <= kContent)
    return std::move(solution);
  excess = messages.getExcess();
  if (attempt(getSlack(), kTables * effort.work))
    return std::move(solution);
  return close(getMeans(effort, kContent));
}

Problem::Solution Problem::Gap::close(Means means) {
  while (true) {
    double before = solution.lowerBound;
    unsigned rounds = std::min(means.sweeps - means.rounds, kRounds);
    means.rounds += rounds;
    bound = messages.pass(rounds, means.content, solution);
    if (solution.getGap() <= means.content)
      return std::move(solution);
    excess = messages.getExcess();
    if (attempt(getSlack(), means.proof))
      return std::move(solution);

    // While the bound leaps, its guesses are bad.
    constexpr double kSettled = 0.004;
    double size = std::abs(solution.cost);
    if (solution.lowerBound - before <= kSettled * size &&
        means.rounds >= means.nextGuess) {
      double cost = solution.cost;
      guess(means);
      means.pause = solution.cost < cost ? kRounds : 2 * means.pause;
      means.nextGuess = means.rounds + means.pause;
      means.proof = std::min(2 * means.proof, means.work);
    }
    // A bound that creeps will not get there.
    constexpr double kProgress = 1e-5;
    bool isIdle = false;
    if (means.rounds % kPatience == 0) {
      double rise = solution.lowerBound -
                    std::exchange(means.reached, solution.lowerBound);
      isIdle = !(rise > kProgress * size);
    }
    bool isLast = isIdle || means.rounds == means.sweeps;
    // Nobody knows costs as exactly as what is left in the end.
    constexpr double kEnough = 1e-4;
    if (isLast && solution.getGap() <= kEnough)
      return std::move(solution);

    // Rounds stumble where candidates go, so it should be many.
    constexpr double kWorthwhile = 0.25;
    if (!isLast && countPairs(getSlack()) > kWorthwhile * countPairs(kInfinity))
      continue;
    Restriction restriction(problem, excess, getSlack());
    Gap left(*this, restriction);
    Solution rest = isLast ? left.search(means.work) : left.close(means);
    rest.labels = restriction.expand(rest.labels);
    return rest;
  }
}
