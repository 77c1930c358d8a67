// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Sharding/Labeling.h"

#include <algorithm>
#include <limits>

using namespace tp;

unsigned Labeling::addNode(llvm::ArrayRef<double> costs) {
  nodes.push_back({costs.vec(), {}, 0, 0});
  return nodes.size() - 1;
}

void Labeling::addEdge(unsigned from, std::vector<uint16_t> fromPorts,
                       unsigned to, std::vector<uint16_t> toPorts,
                       const CostMatrix &matrix) {
  Edge edge{{from, to}, {std::move(fromPorts), std::move(toPorts)}, &matrix, {}};
  edge.messages[0].assign(matrix.rows, 0);
  edge.messages[1].assign(matrix.columns, 0);
  nodes[from].edges.push_back(edges.size());
  nodes[to].edges.push_back(edges.size());
  ++nodes[from].forward;
  ++nodes[to].backward;
  edges.push_back(std::move(edge));
}

std::vector<double> Labeling::getBelief(const Node &node,
                                        unsigned number) const {
  std::vector<double> belief = node.costs;
  for (unsigned e : node.edges) {
    const Edge &edge = edges[e];
    unsigned end = edge.nodes[0] == number ? 0 : 1;
    for (size_t c = 0; c < belief.size(); ++c)
      belief[c] += edge.messages[end][edge.ports[end][c]];
  }
  return belief;
}

/// Passes messages along all edges in one direction. Returns what a backward
/// sweep adds to the lower bound.
double Labeling::sweep(bool forward) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double bound = 0;
  std::vector<double> best;
  for (size_t i = 0; i < nodes.size(); ++i) {
    unsigned number = forward ? i : nodes.size() - 1 - i;
    const Node &node = nodes[number];
    std::vector<double> belief = getBelief(node, number);
    // Each of the chains that the edges form gets its share of the node.
    double share = 1.0 / std::max({node.forward, node.backward, 1u});
    if (!forward) {
      double least = *std::min_element(belief.begin(), belief.end());
      // Chains that end here hand their part of the node to the bound.
      bound += least * (1.0 - share * node.backward);
    }
    for (unsigned e : node.edges) {
      Edge &edge = edges[e];
      unsigned end = edge.nodes[0] == number ? 0 : 1;
      bool ahead = end == 0; // the other node is later
      if (ahead != forward)
        continue;
      best.assign(edge.messages[end].size(), infinity);
      for (size_t c = 0; c < belief.size(); ++c) {
        if (belief[c] == infinity)
          continue; // and its message may be infinite, too
        uint16_t port = edge.ports[end][c];
        best[port] = std::min(
            best[port], share * belief[c] - edge.messages[end][port]);
      }
      std::vector<double> &out = edge.messages[1 - end];
      double least = infinity;
      for (size_t to = 0; to < out.size(); ++to) {
        double value = infinity;
        for (size_t from = 0; from < best.size(); ++from)
          if (best[from] != infinity)
            value = std::min(value, best[from] + (end == 0
                                                      ? edge.cost(from, to)
                                                      : edge.cost(to, from)));
        out[to] = value;
        least = std::min(least, value);
      }
      if (least != infinity)
        for (double &value : out)
          value -= least;
      if (!forward)
        bound += least;
    }
  }
  return bound;
}

std::vector<unsigned> Labeling::decode() const {
  std::vector<unsigned> labels(nodes.size(), 0);
  for (unsigned number = 0; number < nodes.size(); ++number) {
    const Node &node = nodes[number];
    std::vector<double> belief = node.costs;
    for (unsigned e : node.edges) {
      const Edge &edge = edges[e];
      if (edge.nodes[1] == number) { // the other end is decided
        unsigned other = edge.ports[0][labels[edge.nodes[0]]];
        for (size_t c = 0; c < belief.size(); ++c)
          belief[c] += edge.cost(other, edge.ports[1][c]);
      } else {
        for (size_t c = 0; c < belief.size(); ++c)
          belief[c] += edge.messages[0][edge.ports[0][c]];
      }
    }
    labels[number] =
        std::min_element(belief.begin(), belief.end()) - belief.begin();
  }
  return labels;
}

/// Changes one node at a time while that helps.
void Labeling::descend(std::vector<unsigned> &labels) const {
  for (unsigned round = 0; round < 8; ++round) {
    bool changed = false;
    for (unsigned number = 0; number < nodes.size(); ++number) {
      const Node &node = nodes[number];
      std::vector<double> belief = node.costs;
      for (unsigned e : node.edges) {
        const Edge &edge = edges[e];
        unsigned end = edge.nodes[0] == number ? 0 : 1;
        unsigned other = edge.ports[1 - end][labels[edge.nodes[1 - end]]];
        for (size_t c = 0; c < belief.size(); ++c)
          belief[c] += end == 0 ? edge.cost(edge.ports[0][c], other)
                                : edge.cost(other, edge.ports[1][c]);
      }
      unsigned best =
          std::min_element(belief.begin(), belief.end()) - belief.begin();
      // A margin, or rounding could make two choices alternate.
      if (belief[best] < belief[labels[number]] * (1 - 1e-12) - 1e-12) {
        labels[number] = best;
        changed = true;
      }
    }
    if (!changed)
      return;
  }
}

double Labeling::evaluate(llvm::ArrayRef<unsigned> labels) const {
  double cost = 0;
  for (size_t number = 0; number < nodes.size(); ++number)
    cost += nodes[number].costs[labels[number]];
  for (const Edge &edge : edges)
    cost += edge.cost(edge.ports[0][labels[edge.nodes[0]]],
                      edge.ports[1][labels[edge.nodes[1]]]);
  return cost;
}

Labeling::Solution Labeling::solve(unsigned sweeps) {
  Solution solution;
  solution.cost = std::numeric_limits<double>::infinity();
  solution.lowerBound = -solution.cost;
  for (unsigned i = 0; i < std::max(1u, sweeps); ++i) {
    sweep(/*forward=*/true);
    solution.lowerBound =
        std::max(solution.lowerBound, sweep(/*forward=*/false));
    std::vector<unsigned> labels = decode();
    descend(labels);
    double cost = evaluate(labels);
    if (cost < solution.cost) {
      solution.cost = cost;
      solution.labels = std::move(labels);
    }
    if (solution.cost <= solution.lowerBound * (1 + 1e-9) + 1e-9)
      break;
  }
  return solution;
}
