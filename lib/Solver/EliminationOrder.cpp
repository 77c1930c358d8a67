// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "EliminationOrder.h"
#include "Infinity.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <queue>

using namespace tp;
using namespace tp::solver;

/// The graph of the nodes that are not removed yet, and a queue of these nodes.
class Problem::EliminationOrder::Builder {
public:
  Builder(const Problem &problem, llvm::ArrayRef<unsigned> numOptions,
          Limits limits, llvm::ArrayRef<unsigned> timesFixed, Rule rule);
  EliminationOrder build();

private:
  /// The number that the rule minimizes, and the work of the node's table.
  using Score = std::pair<double, double>;
  using Entry = std::pair<Score, unsigned>;
  static constexpr Score kRemoved = {-1, -1};

  bool connect(unsigned a, unsigned b);
  double getTableWork(unsigned node) const;
  double getNewPairs(unsigned node) const;
  void enqueue(unsigned node);
  unsigned chooseFixed(unsigned node) const;
  void addStep(unsigned node, bool isFixed);

  llvm::ArrayRef<unsigned> numOptions, timesFixed;
  Limits limits;
  Rule rule;
  EliminationOrder order;
  std::vector<llvm::SmallVector<unsigned, 8>> neighbours; ///< Indexed by node.
  std::vector<Score> scores;                              ///< Indexed by node.
  /// Has an entry for each score that a node has had. An entry is valid only if
  /// it has the node's current score (see `scores`).
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
};

Problem::EliminationOrder::Builder::Builder(const Problem &problem,
                                            llvm::ArrayRef<unsigned> numOptions,
                                            Limits limits,
                                            llvm::ArrayRef<unsigned> timesFixed,
                                            Rule rule)
    : numOptions(numOptions), timesFixed(timesFixed), limits(limits),
      rule(rule), neighbours(numOptions.size()),
      scores(numOptions.size(), kRemoved) {
  // Nodes with one option do not enlarge a table, so the graph omits them.
  for (const Edge &edge : problem.edges)
    if (numOptions[edge.nodes[0]] > 1 && numOptions[edge.nodes[1]] > 1)
      connect(edge.nodes[0], edge.nodes[1]);
  for (unsigned node = 0; node < numOptions.size(); ++node)
    if (numOptions[node] > 1)
      enqueue(node);
    else
      order.steps.push_back({node, /*isFixed=*/true, {}});
}

/// Makes two nodes neighbours. Returns false if they already were.
bool Problem::EliminationOrder::Builder::connect(unsigned a, unsigned b) {
  if (llvm::is_contained(neighbours[a], b))
    return false;
  neighbours[a].push_back(b);
  neighbours[b].push_back(a);
  return true;
}

double Problem::EliminationOrder::Builder::getTableWork(unsigned node) const {
  double work = numOptions[node];
  for (unsigned neighbour : neighbours[node])
    work *= numOptions[neighbour];
  return work;
}

/// The number of pairs of options, over all pairs of neighbours that the
/// elimination of `node` would newly join.
double Problem::EliminationOrder::Builder::getNewPairs(unsigned node) const {
  double pairs = 0;
  llvm::ArrayRef<unsigned> around = neighbours[node];
  for (auto [i, a] : llvm::enumerate(around))
    for (unsigned b : around.drop_front(i + 1))
      if (!llvm::is_contained(neighbours[a], b))
        pairs += double(numOptions[a]) * numOptions[b];
  return pairs;
}

void Problem::EliminationOrder::Builder::enqueue(unsigned node) {
  double work = getTableWork(node), criterion = 0;
  if (rule == Rule::FewestNewPairs)
    // Counting the pairs of many neighbours takes long, and is not needed for a
    // table that is too large to be used.
    criterion = work > limits.tableWork ? kInfinity : getNewPairs(node);
  scores[node] = {criterion, work};
  queue.push({scores[node], node});
}

/// Chooses the node to fix if the table for eliminating `node` is too large.
/// Takes either `node` or one of its neighbours: the one that was fixed least
/// often or, on a tie, the one with the most options.
unsigned Problem::EliminationOrder::Builder::chooseFixed(unsigned node) const {
  unsigned best = node;
  for (unsigned other : neighbours[node])
    if (std::make_pair(timesFixed[other], numOptions[best]) <
        std::make_pair(timesFixed[best], numOptions[other]))
      best = other;
  return best;
}

/// Removes a node from the graph.
void Problem::EliminationOrder::Builder::addStep(unsigned node, bool isFixed) {
  scores[node] = kRemoved;
  order.steps.push_back(
      {node, isFixed, {neighbours[node].begin(), neighbours[node].end()}});
  llvm::ArrayRef<unsigned> around = order.steps.back().neighbours;
  for (unsigned other : around)
    llvm::erase(neighbours[other], node);
  llvm::SmallSetVector<unsigned, 16> changed(around.begin(), around.end());
  if (!isFixed)
    for (auto [i, a] : llvm::enumerate(around))
      for (unsigned b : around.drop_front(i + 1)) {
        if (!connect(a, b) || rule != Rule::FewestNewPairs)
          continue;
        // `a` and `b` are joined now, so the elimination of a common neighbour
        // joins one new pair fewer.
        for (unsigned other : neighbours[a])
          if (llvm::is_contained(neighbours[b], other))
            changed.insert(other);
      }
  for (unsigned other : changed)
    enqueue(other);
}

Problem::EliminationOrder Problem::EliminationOrder::Builder::build() {
  while (!queue.empty()) {
    auto [score, node] = queue.top();
    queue.pop();
    if (score != scores[node])
      continue; // the node has a newer entry, or is removed
    double work = score.second;
    if (work <= limits.tableWork) {
      order.work += work;
      if (order.work > limits.work) {
        order.isExact = false;
        break;
      }
      addStep(node, /*isFixed=*/false);
      continue;
    }
    order.isExact = false;
    if (rule == Rule::FewestNewPairs)
      break; // the other rule will be used
    addStep(chooseFixed(node), /*isFixed=*/true);
  }
  return std::move(order);
}

Problem::EliminationOrder Problem::EliminationOrder::find(
    const Problem &problem, llvm::ArrayRef<unsigned> numOptions, Limits limits,
    llvm::ArrayRef<unsigned> timesFixed) {
  auto build = [&](Rule rule) {
    return Builder(problem, numOptions, limits, timesFixed, rule).build();
  };
  // If no table is too large, the rule of fewest new pairs usually gives the
  // better order. If nodes must be fixed, the rule of smallest tables is used.
  EliminationOrder order = build(Rule::FewestNewPairs);
  if (!order.isExact)
    order = build(Rule::SmallestTable);
  return order;
}

std::optional<Problem::EliminationOrder> Problem::EliminationOrder::findExact(
    const Problem &problem, llvm::ArrayRef<unsigned> numOptions, double work) {
  std::vector<unsigned> timesFixed(numOptions.size(), 0);
  EliminationOrder order =
      find(problem, numOptions, {work, /*tableWork=*/work}, timesFixed);
  if (!order.isExact)
    return std::nullopt;
  return order;
}
