// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Sharding/Labeling.h"

#include "LabelingLift.h"
#include "LabelingReduction.h"
#include "LabelingSearch.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace tp;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A share of all that no estimate of a cost is good for.
static constexpr double kPrecision = 1e-6;

unsigned Labeling::addNode(llvm::ArrayRef<double> candidates) {
  nodes.push_back({costs.size(), unsigned(candidates.size()), 0, 0, {}});
  costs.insert(costs.end(), candidates.begin(), candidates.end());
  return nodes.size() - 1;
}

void Labeling::addCosts(unsigned node, llvm::ArrayRef<uint16_t> ports,
                        llvm::ArrayRef<double> more) {
  for (auto [c, port] : llvm::enumerate(ports))
    costs[nodes[node].costs + c] += more[port];
}

void Labeling::addEdge(unsigned from, llvm::ArrayRef<uint16_t> fromPorts,
                       unsigned to, llvm::ArrayRef<uint16_t> toPorts,
                       const CostMatrix &matrix) {
  size_t place = numMessages;
  nodes[from].edges.push_back(edges.size());
  nodes[to].edges.push_back(edges.size());
  ++nodes[from].forward;
  ++nodes[to].backward;
  edges.push_back({{from, to},
                   {fromPorts, toPorts},
                   &matrix,
                   {place, place + matrix.rows}});
  numMessages += matrix.rows + matrix.columns;
}

/// Tells the other end of an edge what `belief` means for its port states.
void Labeling::send(const Edge &edge, unsigned end, double share) {
  const double *in = &messages[edge.messages[end]];
  double *out = &messages[edge.messages[1 - end]];
  const uint16_t *ports = edge.ports[end].data();
  unsigned numPorts = edge.getNumPorts(end);
  unsigned numOut = edge.getNumPorts(1 - end);
  best.assign(numPorts, kInfinity);
  for (size_t c = 0; c < edge.ports[end].size(); ++c)
    best[ports[c]] = std::min(best[ports[c]], belief[c]);
  for (unsigned port = 0; port < numPorts; ++port)
    if (best[port] != kInfinity) // its message may be infinite, too
      best[port] = share * best[port] - in[port];
  const double *row = edge.matrix->values.data();
  if (end == 0) {
    std::fill(out, out + numOut, kInfinity);
    // Two rows at a time, so that `out` is read and written half as often.
    unsigned from = 0;
    for (; from + 2 <= numPorts; from += 2, row += 2 * size_t(numOut))
      for (unsigned to = 0; to < numOut; ++to)
        out[to] =
            std::min(out[to], std::min(best[from] + row[to],
                                       best[from + 1] + row[to + numOut]));
    if (from < numPorts)
      for (unsigned to = 0; to < numOut; ++to)
        out[to] = std::min(out[to], best[from] + row[to]);
    return;
  }
  for (unsigned to = 0; to < numOut; ++to, row += numPorts) {
    // A compiler does not reorder floating-point numbers: this many chains.
    constexpr unsigned kLanes = 8;
    double least[kLanes];
    std::fill_n(least, kLanes, kInfinity);
    unsigned from = 0;
    for (; from + kLanes <= numPorts; from += kLanes)
      for (unsigned lane = 0; lane < kLanes; ++lane)
        least[lane] =
            std::min(least[lane], best[from + lane] + row[from + lane]);
    for (; from < numPorts; ++from)
      least[0] = std::min(least[0], best[from] + row[from]);
    out[to] = *std::min_element(least, least + kLanes);
  }
}

/// Passes messages along all edges in one direction. Returns what a backward
/// sweep adds to the lower bound.
double Labeling::sweep(bool forward) {
  double bound = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    unsigned number = forward ? i : nodes.size() - 1 - i;
    const Node &node = nodes[number];
    llvm::ArrayRef<double> own = getCosts(number);
    belief.assign(own.begin(), own.end());
    for (unsigned e : node.edges) {
      const Edge &edge = edges[e];
      unsigned end = edge.nodes[0] == number ? 0 : 1;
      const double *message = &messages[edge.messages[end]];
      const uint16_t *ports = edge.ports[end].data();
      for (size_t c = 0; c < belief.size(); ++c)
        belief[c] += message[ports[c]];
    }
    // Each of the chains that the edges form gets its share of the node.
    double share = 1.0 / std::max({node.forward, node.backward, 1u});
    if (!forward) {
      double least = *std::min_element(belief.begin(), belief.end());
      // Chains that end here hand their part of the node to the bound.
      bound += least * (1.0 - share * node.backward);
    }
    for (unsigned e : node.edges) {
      const Edge &edge = edges[e];
      unsigned end = edge.nodes[0] == number ? 0 : 1;
      bool ahead = end == 0; // the other node is later
      if (ahead != forward)
        continue;
      send(edge, end, share);
      llvm::MutableArrayRef<double> out(&messages[edge.messages[1 - end]],
                                        edge.getNumPorts(1 - end));
      double least = *std::min_element(out.begin(), out.end());
      if (least != kInfinity)
        for (double &value : out)
          value -= least;
      if (!forward)
        bound += least;
    }
  }
  return bound;
}

std::vector<unsigned> Labeling::decode() {
  std::vector<unsigned> labels(nodes.size(), 0);
  for (unsigned number = 0; number < nodes.size(); ++number) {
    llvm::ArrayRef<double> own = getCosts(number);
    belief.assign(own.begin(), own.end());
    for (unsigned e : nodes[number].edges) {
      const Edge &edge = edges[e];
      if (edge.nodes[1] == number) { // the other end is decided
        unsigned other = edge.ports[0][labels[edge.nodes[0]]];
        const double *row =
            &edge.matrix->values[size_t(other) * edge.matrix->columns];
        for (size_t c = 0; c < belief.size(); ++c)
          belief[c] += row[edge.ports[1][c]];
      } else {
        const double *message = &messages[edge.messages[0]];
        for (size_t c = 0; c < belief.size(); ++c)
          belief[c] += message[edge.ports[0][c]];
      }
    }
    labels[number] =
        std::min_element(belief.begin(), belief.end()) - belief.begin();
  }
  return labels;
}

//===----------------------------------------------------------------------===//
// Descent over forests
//===----------------------------------------------------------------------===//

/// Re-optimises a forest of nodes exactly, all others staying as they are. The
/// forest is grown in the given order: a node joins unless that closes a cycle.
/// Never makes the choice worse.
void Labeling::optimizeForest(llvm::ArrayRef<unsigned> order,
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
void Labeling::answerParent(unsigned child, unsigned up,
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
/// data flow and against it, from both ends and the middle. Stops after
/// `patience` of them that do not help.
void Labeling::descend(std::vector<unsigned> &labels, unsigned patience) const {
  constexpr unsigned kMost = 40;
  double cost = evaluate(labels);
  unsigned idle = 0;
  for (unsigned round = 0; idle < patience && round < kMost; ++round) {
    std::vector<unsigned> order(nodes.size());
    size_t shift = round % 2 == 1 ? nodes.size() / 2 : 0;
    for (size_t i = 0; i < nodes.size(); ++i)
      order[i] = (i + shift) % nodes.size();
    if (round % 2 == 1)
      std::reverse(order.begin(), order.end());
    std::vector<unsigned> trial = labels;
    optimizeForest(order, trial);
    double trialCost = evaluate(trial);
    // A margin, or rounding could make two choices alternate.
    if (trialCost < cost - 1e-12 * std::abs(cost)) {
      cost = trialCost;
      labels = std::move(trial);
      idle = 0;
    } else {
      ++idle;
    }
  }
}

std::vector<double>
Labeling::getRegrets(llvm::ArrayRef<unsigned> labels, unsigned node,
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

double Labeling::evaluate(llvm::ArrayRef<unsigned> labels) const {
  double cost = 0;
  for (size_t number = 0; number < nodes.size(); ++number)
    cost += costs[nodes[number].costs + labels[number]];
  for (const Edge &edge : edges)
    cost += edge.cost(edge.ports[0][labels[edge.nodes[0]]],
                      edge.ports[1][labels[edge.nodes[1]]]);
  return cost;
}

Labeling::Solution Labeling::solve(Effort effort) {
  std::unique_ptr<Lifted> lifted = lift();
  if (!lifted)
    return solveReduced(effort);
  Solution classes = lifted->labeling.solveReduced(effort);
  Solution solution;
  solution.lowerBound = classes.lowerBound;
  for (unsigned classOf : lifted->classOf)
    solution.labels.push_back(classes.labels[classOf]);
  // Where the choice for classes is proven best, there is seldom a better one.
  descend(solution.labels, classes.getGap() > kPrecision ? 2 : 1);
  solution.cost = evaluate(solution.labels);
  return solution;
}

Labeling::Solution Labeling::solveReduced(Effort effort) const {
  Reduction reduction(*this);
  Labeling &core = reduction.core;
  Solution solution = core.passMessages(effort.sweeps);
  if (solution.getGap() > kPrecision) {
    bool isBest = Search(core, effort.work).improve(solution.labels);
    solution.cost = core.evaluate(solution.labels);
    if (isBest)
      solution.lowerBound = solution.cost;
  }
  solution.labels = reduction.expand(solution.labels);
  solution.lowerBound += reduction.constant;
  solution.cost = evaluate(solution.labels);
  return solution;
}

/// The best of what the rounds give.
Labeling::Solution Labeling::passMessages(unsigned sweeps) {
  Solution solution;
  messages.assign(numMessages, 0);
  // Whoever still closes the gap may yet find the best choice; a bound that
  // creeps will not.
  constexpr unsigned kPatience = 4;
  constexpr double kProgress = 0.003;
  unsigned idle = 0;
  for (unsigned i = 0; i < std::max(1u, sweeps) && idle < kPatience; ++i) {
    double gap = solution.cost - solution.lowerBound;
    sweep(/*forward=*/true);
    solution.lowerBound =
        std::max(solution.lowerBound, sweep(/*forward=*/false));
    std::vector<unsigned> labels = decode();
    double cost = evaluate(labels);
    if (i == 0 || cost < solution.cost) {
      solution.cost = cost;
      solution.labels = std::move(labels);
    }
    if (solution.getGap() <= 1e-9)
      break;
    double left = solution.cost - solution.lowerBound;
    idle = left < gap * (1 - kProgress) ? 0 : idle + 1;
  }
  return solution;
}
