// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Messages.h"

#include "Lift.h"
#include "Product.h"
#include "Restriction.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

using namespace tp;
using namespace tp::pbqp;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

Problem::Messages::Messages(const Problem &problem)
    : problem(problem), reached(-kInfinity) {
  size_t place = 0;
  for (const Edge &edge : problem.edges) {
    const CostMatrix &matrix = *edge.matrix;
    auto [it, isNew] = turned.try_emplace(&matrix, matrix.columns, matrix.rows);
    if (isNew)
      for (unsigned row = 0; row < matrix.rows; ++row)
        for (unsigned column = 0; column < matrix.columns; ++column)
          it->second.at(column, row) = matrix.at(row, column);
    rowsOf.push_back({&matrix, &it->second});
    places.push_back({place, place + matrix.rows});
    place += matrix.rows + matrix.columns;
  }
  values.assign(place, 0);
}

Problem::Messages::Messages(const Messages &whole,
                            const Restriction &restriction)
    : Messages(restriction.rest) {
  numRises = whole.numRises;
  before = values;
  for (auto [edge, from, to] : llvm::enumerate(whole.places, places))
    for (unsigned end : {0, 1})
      for (auto [i, state] :
           llvm::enumerate(restriction.getStates(edge, end))) {
        values[to[end] + i] = whole.values[from[end] + state];
        before[to[end] + i] = whole.before[from[end] + state];
      }
}

Problem::Messages::Messages(const Problem &problem, const Lifted &lifted,
                            const Messages &classes)
    : Messages(problem) {
  for (auto [edge, to, place] :
       llvm::zip_equal(problem.edges, places, lifted.places)) {
    if (place.edge == Lifted::kNone)
      continue;
    for (unsigned end : {0, 1}) {
      unsigned there = place.isTurned ? 1 - end : end;
      const double *from = &classes.values[classes.places[place.edge][there]];
      // What a class cannot be, one of its nodes may.
      for (unsigned i = 0; i < edge.getNumPorts(end); ++i)
        if (from[i] != kInfinity)
          values[to[end] + i] = from[i] / place.count;
    }
  }
}

/// What the candidates of a node cost and their neighbours say about them.
void Problem::Messages::collect(unsigned node) {
  llvm::ArrayRef<double> own = problem.getCosts(node);
  belief.assign(own.begin(), own.end());
  for (unsigned e : problem.nodes[node].edges) {
    const Edge &edge = problem.edges[e];
    unsigned end = edge.nodes[0] == node ? 0 : 1;
    const double *message = &values[places[e][end]];
    const uint16_t *ports = edge.ports[end].data();
    for (size_t c = 0; c < belief.size(); ++c)
      belief[c] += message[ports[c]];
  }
}

/// Tells the other end of an edge what `belief` means for its port states.
void Problem::Messages::send(unsigned e, unsigned end, double share) {
  const Edge &edge = problem.edges[e];
  const double *in = &values[places[e][end]];
  double *out = &values[places[e][1 - end]];
  const uint16_t *ports = edge.ports[end].data();
  unsigned numPorts = edge.getNumPorts(end);
  unsigned numOut = edge.getNumPorts(1 - end);
  best.assign(numPorts, kInfinity);
  for (size_t c = 0; c < edge.ports[end].size(); ++c)
    best[ports[c]] = std::min(best[ports[c]], belief[c]);
  for (unsigned port = 0; port < numPorts; ++port)
    if (best[port] != kInfinity) // its message may be infinite, too
      best[port] = share * best[port] - in[port];
  std::fill(out, out + numOut, kInfinity);
  takeLeast(best, rowsOf[e][end]->values.data(), {out, numOut});
}

/// Goes on in the direction of the last rounds, the further the longer they
/// have raised the bound.
void Problem::Messages::extrapolate() {
  constexpr double kInertia = 2;
  double weight = numRises / (numRises + kInertia);
  if (weight == 0) {
    before = values;
    return;
  }
  for (auto [value, last] : llvm::zip_equal(values, before)) {
    double change = value - std::exchange(last, value);
    if (std::isfinite(change)) // both may be infinite
      value += weight * change;
  }
}

/// Passes messages along all edges in one direction. Returns the bound that
/// they then are.
double Problem::Messages::sweep(bool forward) {
  double bound = 0;
  size_t numNodes = problem.nodes.size();
  for (size_t i = 0; i < numNodes; ++i) {
    unsigned number = forward ? i : numNodes - 1 - i;
    const Node &node = problem.nodes[number];
    collect(number);
    // Each of the chains that the edges form gets its share of the node.
    double share = 1.0 / std::max({node.forward, node.backward, 1u});
    // Chains that end here hand their part of the node to the bound.
    double ending = 1.0 - share * (forward ? node.forward : node.backward);
    if (ending > 0)
      bound += ending * *std::min_element(belief.begin(), belief.end());
    for (unsigned e : node.edges) {
      const Edge &edge = problem.edges[e];
      unsigned end = edge.nodes[0] == number ? 0 : 1;
      bool ahead = end == 0; // the other node is later
      if (ahead != forward)
        continue;
      send(e, end, share);
      llvm::MutableArrayRef<double> out(&values[places[e][1 - end]],
                                        edge.getNumPorts(1 - end));
      double least = *std::min_element(out.begin(), out.end());
      if (least != kInfinity)
        for (double &value : out)
          value -= least;
      bound += least;
    }
  }
  return bound;
}

std::vector<unsigned> Problem::Messages::decode() {
  std::vector<unsigned> labels(problem.nodes.size(), 0);
  for (unsigned number = 0; number < labels.size(); ++number) {
    llvm::ArrayRef<double> own = problem.getCosts(number);
    belief.assign(own.begin(), own.end());
    for (unsigned e : problem.nodes[number].edges) {
      const Edge &edge = problem.edges[e];
      unsigned end = edge.nodes[0] == number ? 0 : 1;
      const double *from = &values[places[e][0]];
      if (end == 1) {
        const CostMatrix &matrix = *edge.matrix;
        unsigned other = edge.ports[0][labels[edge.nodes[0]]];
        from = &matrix.values[size_t(other) * matrix.columns];
      }
      const uint16_t *ports = edge.ports[end].data();
      for (size_t c = 0; c < belief.size(); ++c)
        belief[c] += from[ports[c]];
    }
    labels[number] =
        std::min_element(belief.begin(), belief.end()) - belief.begin();
  }
  return labels;
}

/// How far rounding can have lifted the bound of a sweep. Each message is a few
/// sums of numbers as large as the messages around it, and every error in one
/// reaches the bound once.
double Problem::Messages::getRounding() const {
  constexpr double kSums = 4;
  double sum = 0;
  for (size_t edge = 0; edge < places.size(); ++edge) {
    const CostMatrix &matrix = *problem.edges[edge].matrix;
    double largest = 0;
    for (double value : llvm::ArrayRef(values).slice(
             places[edge][0], size_t(matrix.rows) + matrix.columns))
      if (std::isfinite(value))
        largest = std::max(largest, std::abs(value));
    sum += largest;
  }
  return kSums * std::numeric_limits<double>::epsilon() * sum;
}

double Problem::Messages::getBound() {
  double bound = sweep(/*forward=*/true);
  return bound - getRounding();
}

double Problem::Messages::pass(unsigned rounds, double content,
                               Solution &solution) {
  constexpr unsigned kDecoded = 8;
  double halfWay = -kInfinity;
  for (unsigned i = 0; i < rounds && !(solution.getGap() <= content); ++i) {
    extrapolate();
    halfWay = sweep(/*forward=*/true);
    double bound = sweep(/*forward=*/false);
    double rounding = getRounding();
    halfWay -= rounding;
    numRises = bound > std::exchange(reached, bound) ? numRises + 1 : 0;
    solution.lowerBound = std::max(solution.lowerBound, bound - rounding);
    // Choices settle later than bounds.
    if ((i + 1) % kDecoded == 0 || i + 1 == rounds)
      solution.improve(problem, decode());
  }
  return halfWay;
}

std::vector<double> Problem::Messages::getExcess() const {
  std::vector<double> result = problem.costs;
  for (auto [edge, place] : llvm::zip_equal(problem.edges, places))
    for (unsigned end : {0, 1}) {
      double *sum = &result[problem.nodes[edge.nodes[end]].costs];
      for (uint16_t port : edge.ports[end])
        *sum++ += values[place[end] + port];
    }
  for (const Node &node : problem.nodes) {
    llvm::MutableArrayRef<double> own(&result[node.costs], node.numCandidates);
    double least = *std::min_element(own.begin(), own.end());
    for (double &cost : own) // all are infinite where nothing is allowed
      cost = least == kInfinity ? 0 : cost - least;
  }
  return result;
}
