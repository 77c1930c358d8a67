// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Sharding/Labeling.h"

#include "LabelingLift.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tp;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
  const double *matrix = edge.matrix->values.data();
  if (end == 0) {
    std::fill(out, out + numOut, kInfinity);
    for (unsigned from = 0; from < numPorts; ++from, matrix += numOut)
      if (best[from] != kInfinity)
        for (unsigned to = 0; to < numOut; ++to)
          out[to] = std::min(out[to], best[from] + matrix[to]);
  } else {
    for (unsigned to = 0; to < numOut; ++to, matrix += numPorts) {
      double least = kInfinity;
      for (unsigned from = 0; from < numPorts; ++from)
        least = std::min(least, best[from] + matrix[from]);
      out[to] = least;
    }
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
  for (unsigned i = 0; i < nodes.size(); ++i)
    component[i] = i;
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

  // Costs of subtrees, leaves first; what a child answers to each candidate of
  // its parent.
  std::vector<std::vector<double>> beliefs(nodes.size());
  std::vector<std::vector<unsigned>> answer(nodes.size());
  for (unsigned number : sequence) {
    std::vector<double> &belief = beliefs[number];
    belief = getCosts(number).vec();
    for (unsigned e : nodes[number].edges) {
      unsigned other = otherEnd(e, number);
      if (inside[other])
        continue;
      const Edge &edge = edges[e];
      unsigned end = edge.nodes[0] == number ? 0 : 1;
      unsigned fixed = edge.ports[1 - end][labels[other]];
      for (size_t c = 0; c < belief.size(); ++c)
        belief[c] += end == 0 ? edge.cost(edge.ports[0][c], fixed)
                              : edge.cost(fixed, edge.ports[1][c]);
    }
  }
  for (size_t i = sequence.size(); i-- > 0;) {
    unsigned child = sequence[i], up = parent[child];
    if (up == none)
      continue;
    llvm::SmallVector<const Edge *, 2> joined;
    for (unsigned e : nodes[child].edges)
      if (otherEnd(e, child) == up)
        joined.push_back(&edges[e]);
    answerParent(child, up, joined, beliefs, answer[child]);
  }
  for (unsigned number : sequence) {
    const std::vector<double> &sums = beliefs[number];
    labels[number] =
        parent[number] == none
            ? std::min_element(sums.begin(), sums.end()) - sums.begin()
            : answer[number][labels[parent[number]]];
  }
}

/// For each candidate of `up`, the best one of `child`; adds its cost to `up`.
void Labeling::answerParent(unsigned child, unsigned up,
                            llvm::ArrayRef<const Edge *> joined,
                            std::vector<std::vector<double>> &beliefs,
                            std::vector<unsigned> &answer) const {
  const std::vector<double> &own = beliefs[child];
  answer.assign(beliefs[up].size(), 0);
  if (joined.size() == 1) {
    // Candidates that look alike through the edge are compared once.
    const Edge &edge = *joined[0];
    unsigned end = edge.nodes[0] == child ? 0 : 1;
    std::vector<double> lowest(edge.getNumPorts(end), kInfinity);
    std::vector<unsigned> who(lowest.size(), 0);
    for (unsigned c = 0; c < own.size(); ++c)
      if (uint16_t port = edge.ports[end][c]; own[c] < lowest[port]) {
        lowest[port] = own[c];
        who[port] = c;
      }
    std::vector<double> least(edge.getNumPorts(1 - end), kInfinity);
    std::vector<unsigned> whom(least.size(), 0);
    for (unsigned to = 0; to < least.size(); ++to)
      for (unsigned from = 0; from < lowest.size(); ++from) {
        double cost = lowest[from] +
                      (end == 0 ? edge.cost(from, to) : edge.cost(to, from));
        if (cost < least[to]) {
          least[to] = cost;
          whom[to] = who[from];
        }
      }
    for (unsigned c = 0; c < answer.size(); ++c) {
      uint16_t port = edge.ports[1 - end][c];
      beliefs[up][c] += least[port];
      answer[c] = whom[port];
    }
    return;
  }
  for (unsigned c = 0; c < answer.size(); ++c) {
    double least = kInfinity;
    for (unsigned k = 0; k < own.size(); ++k) {
      double cost = own[k];
      for (const Edge *edge : joined)
        cost += edge->nodes[0] == child
                    ? edge->cost(edge->ports[0][k], edge->ports[1][c])
                    : edge->cost(edge->ports[0][c], edge->ports[1][k]);
      if (cost < least) {
        least = cost;
        answer[c] = k;
      }
    }
    beliefs[up][c] += least;
  }
}

/// Re-optimises one forest after another while that helps. The orders start at
/// different nodes and run both ways, so that every chain of nodes is in some
/// forest as a whole.
void Labeling::descend(std::vector<unsigned> &labels, unsigned orders) const {
  double cost = evaluate(labels);
  unsigned idle = 0;
  for (unsigned round = 0; idle < orders && round < 20 * orders; ++round) {
    std::vector<unsigned> order(nodes.size());
    size_t shift = nodes.size() * (round % orders) / orders;
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

Labeling::Solution Labeling::solve(unsigned sweeps) {
  std::unique_ptr<Lifted> lifted = lift();
  if (!lifted)
    return solveDirectly(sweeps);
  Solution classes = lifted->labeling.solveDirectly(sweeps);
  Solution solution;
  solution.lowerBound = classes.lowerBound;
  for (unsigned classOf : lifted->classOf)
    solution.labels.push_back(classes.labels[classOf]);
  // Once along the data flow and once against it.
  descend(solution.labels, /*orders=*/2);
  solution.cost = evaluate(solution.labels);
  return solution;
}

Labeling::Solution Labeling::solveDirectly(unsigned sweeps) {
  Solution solution;
  solution.cost = kInfinity;
  solution.lowerBound = -kInfinity;
  messages.assign(numMessages, 0);
  // Whoever still closes the gap may yet find the best choice; a bound that
  // creeps will not.
  constexpr unsigned kPatience = 4;
  constexpr double kProgress = 0.001;
  unsigned idle = 0;
  for (unsigned i = 0; i < std::max(1u, sweeps) && idle < kPatience; ++i) {
    double gap = solution.cost - solution.lowerBound;
    sweep(/*forward=*/true);
    solution.lowerBound =
        std::max(solution.lowerBound, sweep(/*forward=*/false));
    std::vector<unsigned> labels = decode();
    double cost = evaluate(labels);
    if (cost < solution.cost) {
      solution.cost = cost;
      solution.labels = std::move(labels);
    }
    double left = solution.cost - solution.lowerBound;
    if (left <= solution.lowerBound * 1e-9 + 1e-9)
      return solution;
    idle = left < gap * (1 - kProgress) ? 0 : idle + 1;
  }
  descend(solution.labels, /*orders=*/6);
  solution.cost = evaluate(solution.labels);
  return solution;
}
