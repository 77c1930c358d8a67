// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Solver/PBQP.h"

#include "Gap.h"
#include "Lift.h"
#include "Reduction.h"
#include "Search.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace tp;
using namespace tp::pbqp;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

unsigned Problem::addNode(llvm::ArrayRef<double> candidates) {
  nodes.push_back({costs.size(), unsigned(candidates.size()), 0, 0, {}});
  costs.insert(costs.end(), candidates.begin(), candidates.end());
  return nodes.size() - 1;
}

void Problem::addCosts(unsigned node, llvm::ArrayRef<uint16_t> ports,
                       llvm::ArrayRef<double> more) {
  for (auto [c, port] : llvm::enumerate(ports))
    costs[nodes[node].costs + c] += more[port];
}

void Problem::addEdge(unsigned from, llvm::ArrayRef<uint16_t> fromPorts,
                      unsigned to, llvm::ArrayRef<uint16_t> toPorts,
                      const CostMatrix &matrix) {
  nodes[from].edges.push_back(edges.size());
  nodes[to].edges.push_back(edges.size());
  ++nodes[from].forward;
  ++nodes[to].backward;
  edges.push_back({{from, to}, {fromPorts, toPorts}, &matrix});
}

double Problem::getNumEntries() const {
  double count = 0;
  for (const Edge &edge : edges)
    count += double(edge.matrix->rows) * edge.matrix->columns;
  return count;
}

//===----------------------------------------------------------------------===//
// Descent over forests
//===----------------------------------------------------------------------===//

/// Re-optimises a forest of nodes exactly, all others staying as they are. The
/// forest is grown in the given order: a node joins unless that closes a cycle.
/// Never makes the choice worse.
void Problem::optimizeForest(llvm::ArrayRef<unsigned> order,
                             std::vector<unsigned> &labels) const {
  // Grow it.
  std::vector<unsigned> component(nodes.size());
  std::iota(component.begin(), component.end(), 0);
  auto find = [&](unsigned i) {
    while (component[i] != i)
      i = component[i] = component[component[i]];
    return i;
  };
  std::vector<char> inside(nodes.size(), 0);
  auto otherEnd = [&](unsigned e, unsigned number) {
    return edges[e].nodes[0] == number ? edges[e].nodes[1] : edges[e].nodes[0];
  };
  for (unsigned number : order) {
    // Parallel edges lead to one neighbour and close no cycle.
    llvm::SmallVector<unsigned, 8> neighbours, roots;
    bool closes = false;
    for (unsigned e : nodes[number].edges) {
      unsigned other = otherEnd(e, number);
      if (!inside[other] || llvm::is_contained(neighbours, other))
        continue;
      neighbours.push_back(other);
      closes |= llvm::is_contained(roots, find(other));
      roots.push_back(find(other));
    }
    if (closes)
      continue;
    inside[number] = 1;
    for (unsigned root : roots)
      component[root] = number;
  }

  // Order it from the roots outwards.
  constexpr unsigned none = ~0u;
  std::vector<unsigned> parent(nodes.size(), none), sequence;
  std::vector<char> seen(nodes.size(), 0);
  for (unsigned root : order) {
    if (!inside[root] || seen[root])
      continue;
    seen[root] = 1;
    size_t next = sequence.size();
    sequence.push_back(root);
    while (next < sequence.size()) {
      unsigned number = sequence[next++];
      for (unsigned e : nodes[number].edges) {
        unsigned other = otherEnd(e, number);
        if (!inside[other] || seen[other])
          continue;
        seen[other] = 1;
        parent[other] = number;
        sequence.push_back(other);
      }
    }
  }

  // Costs of subtrees, leaves first.
  std::vector<double> sums = costs;
  auto addRow = [&](const Edge &edge, unsigned number, unsigned other) {
    unsigned end = edge.nodes[0] == number ? 0 : 1;
    unsigned fixed = edge.ports[1 - end][labels[other]];
    double *sum = &sums[nodes[number].costs];
    for (uint16_t port : edge.ports[end])
      *sum++ += end == 0 ? edge.cost(port, fixed) : edge.cost(fixed, port);
  };
  for (size_t i = sequence.size(); i-- > 0;) {
    unsigned number = sequence[i];
    llvm::SmallVector<const Edge *, 2> toParent;
    for (unsigned e : nodes[number].edges) {
      unsigned other = otherEnd(e, number);
      if (!inside[other])
        addRow(edges[e], number, other);
      else if (other == parent[number])
        toParent.push_back(&edges[e]);
    }
    if (!toParent.empty())
      answerParent(number, parent[number], toParent, sums);
  }
  // The best ones, roots first.
  for (unsigned number : sequence) {
    if (parent[number] != none)
      for (unsigned e : nodes[number].edges)
        if (otherEnd(e, number) == parent[number])
          addRow(edges[e], number, parent[number]);
    auto first = sums.begin() + nodes[number].costs;
    labels[number] =
        std::min_element(first, first + nodes[number].numCandidates) - first;
  }
}

/// Adds to each candidate of `up` what the best one of `child` costs beside it.
void Problem::answerParent(unsigned child, unsigned up,
                           llvm::ArrayRef<const Edge *> joined,
                           std::vector<double> &sums) const {
  auto get = [&](unsigned number) {
    return llvm::MutableArrayRef(&sums[nodes[number].costs],
                                 nodes[number].numCandidates);
  };
  llvm::MutableArrayRef<double> own = get(child), parents = get(up);
  if (joined.size() == 1) {
    // Candidates that look alike through the edge are compared once.
    const Edge &edge = *joined[0];
    unsigned end = edge.nodes[0] == child ? 0 : 1;
    llvm::SmallVector<double, 32> lowest(edge.getNumPorts(end), kInfinity);
    for (auto [port, cost] : llvm::zip_equal(edge.ports[end], own))
      lowest[port] = std::min(lowest[port], cost);
    llvm::SmallVector<double, 32> least(edge.getNumPorts(1 - end), kInfinity);
    for (unsigned to = 0; to < least.size(); ++to)
      for (unsigned from = 0; from < lowest.size(); ++from)
        least[to] = std::min(least[to],
                             lowest[from] + (end == 0 ? edge.cost(from, to)
                                                      : edge.cost(to, from)));
    for (auto [port, sum] : llvm::zip_equal(edge.ports[1 - end], parents))
      sum += least[port];
    return;
  }
  for (auto [c, sum] : llvm::enumerate(parents)) {
    double least = kInfinity;
    for (auto [k, cost] : llvm::enumerate(own)) {
      double total = cost;
      for (const Edge *edge : joined)
        total += edge->nodes[0] == child
                     ? edge->cost(edge->ports[0][k], edge->ports[1][c])
                     : edge->cost(edge->ports[0][c], edge->ports[1][k]);
      least = std::min(least, total);
    }
    sum += least;
  }
}

/// Re-optimises one forest after another while that helps. They grow along the
/// data flow and against it, from both ends and the middle.
void Problem::descend(Solution &solution) const {
  constexpr unsigned kMost = 40;
  for (unsigned round = 0; round < kMost; ++round) {
    std::vector<unsigned> order(nodes.size());
    size_t shift = round % 2 == 1 ? nodes.size() / 2 : 0;
    for (size_t i = 0; i < nodes.size(); ++i)
      order[i] = (i + shift) % nodes.size();
    if (round % 2 == 1)
      std::reverse(order.begin(), order.end());
    std::vector<unsigned> trial = solution.labels;
    optimizeForest(order, trial);
    double before = solution.cost;
    solution.improve(*this, std::move(trial));
    if (!(solution.cost <
          before - 1e-12 * std::abs(before))) // but for rounding
      return;
  }
}

std::vector<double>
Problem::getRegrets(llvm::ArrayRef<unsigned> labels, unsigned node,
                    llvm::function_ref<bool(unsigned)> adapts) const {
  // Parallel edges lead to one neighbour.
  llvm::MapVector<unsigned, llvm::SmallVector<const Edge *, 2>> neighbours;
  for (unsigned e : nodes[node].edges) {
    const Edge &edge = edges[e];
    neighbours[edge.nodes[edge.nodes[0] == node]].push_back(&edge);
  }
  // What `label` of `number` costs on `edge` beside `other` of the other end.
  auto price = [](const Edge &edge, unsigned number, unsigned label,
                  unsigned other) {
    return edge.nodes[0] == number
               ? edge.cost(edge.ports[0][label], edge.ports[1][other])
               : edge.cost(edge.ports[0][other], edge.ports[1][label]);
  };
  std::vector<double> regrets = getCosts(node).vec();
  for (auto &[neighbour, joined] : neighbours) {
    llvm::SmallVector<unsigned> choices{labels[neighbour]};
    std::vector<double> rest(nodes[neighbour].numCandidates, 0);
    if (adapts(neighbour)) {
      choices.clear();
      for (unsigned c = 0; c < rest.size(); ++c)
        choices.push_back(c);
      rest = getCosts(neighbour).vec();
      for (unsigned e : nodes[neighbour].edges) {
        const Edge &edge = edges[e];
        unsigned far = edge.nodes[edge.nodes[0] == neighbour];
        if (far != node)
          for (unsigned c = 0; c < rest.size(); ++c)
            rest[c] += price(edge, neighbour, c, labels[far]);
      }
    }
    for (unsigned c = 0; c < regrets.size(); ++c) {
      double least = kInfinity;
      for (unsigned choice : choices) {
        double cost = rest[choice];
        for (const Edge *edge : joined)
          cost += price(*edge, node, c, choice);
        least = std::min(least, cost);
      }
      regrets[c] += least;
    }
  }
  double chosen = regrets[labels[node]];
  for (double &regret : regrets)
    regret -= chosen;
  return regrets;
}

double Problem::evaluate(llvm::ArrayRef<unsigned> labels) const {
  double cost = 0;
  for (size_t number = 0; number < nodes.size(); ++number)
    cost += costs[nodes[number].costs + labels[number]];
  for (const Edge &edge : edges)
    cost += edge.cost(edge.ports[0][labels[edge.nodes[0]]],
                      edge.ports[1][labels[edge.nodes[1]]]);
  return cost;
}

Problem::Solution Problem::solve(Effort effort) const {
  Reduction reduction(*this);
  Solution solution = reduction.core.solveCore(effort);
  solution.labels = reduction.expand(solution.labels);
  solution.lowerBound += reduction.constant;
  solution.cost = evaluate(solution.labels);
  return solution;
}

Problem::Solution Problem::solveCore(Effort effort) const {
  // On one axis messages about a few layers take longer than the answer.
  if (auto labels = Search::solve(*this, effort.work)) {
    double cost = evaluate(*labels);
    return {std::move(*labels), cost, cost};
  }
  std::unique_ptr<Lifted> lifted = lift();
  if (!lifted)
    return Gap(*this).close(effort);
  Gap classes(lifted->labeling);
  std::vector<unsigned> labels = classes.close(effort).labels;
  Solution solution = Gap(*this, *lifted, classes, labels).confirm(effort);
  descend(solution);
  return solution;
}

void Problem::Solution::improve(const Problem &problem,
                                std::vector<unsigned> choice) {
  double other = problem.evaluate(choice);
  if (other < cost) {
    cost = other;
    labels = std::move(choice);
  }
}
