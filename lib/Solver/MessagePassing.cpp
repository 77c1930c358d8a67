// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MessagePassing.h"
#include "Infinity.h"

#include "Lifting.h"
#include "MinPlus.h"
#include "Restriction.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

using namespace tp;
using namespace tp::solver;

//===----------------------------------------------------------------------===//
// First messages
//===----------------------------------------------------------------------===//

Problem::MessagePassing::MessagePassing(const Problem &problem)
    : problem(problem), lastBound(-kInfinity) {
  size_t offset = 0;
  for (const Edge &edge : problem.edges) {
    const CostMatrix &matrix = *edge.matrix;
    auto [it, isNew] =
        transposed.try_emplace(&matrix, matrix.columns, matrix.rows);
    if (isNew)
      for (unsigned row = 0; row < matrix.rows; ++row)
        for (unsigned column = 0; column < matrix.columns; ++column)
          it->second.at(column, row) = matrix.at(row, column);
    matricesFrom.push_back({&matrix, &it->second});
    offsets.push_back({offset, offset + matrix.rows});
    offset += matrix.rows + matrix.columns;
  }
  messages.assign(offset, 0);
}

Problem::MessagePassing::MessagePassing(const MessagePassing &whole,
                                        const Restriction &restriction)
    : MessagePassing(restriction.rest) {
  numRising = whole.numRising;
  previousMessages = messages;
  for (auto [edge, from, to] : llvm::enumerate(whole.offsets, offsets))
    for (unsigned end : {0, 1})
      for (auto [i, line] : llvm::enumerate(restriction.getLines(edge, end))) {
        messages[to[end] + i] = whole.messages[from[end] + line];
        previousMessages[to[end] + i] =
            whole.previousMessages[from[end] + line];
      }
}

Problem::MessagePassing::MessagePassing(const Problem &problem,
                                        const Lifting &lifting,
                                        const MessagePassing &classes)
    : MessagePassing(problem) {
  for (auto [edge, to, classEdge] :
       llvm::zip_equal(problem.edges, offsets, lifting.getClassEdges())) {
    if (classEdge.number == Lifting::kNone)
      continue;
    for (unsigned end : {0, 1}) {
      unsigned classEnd = classEdge.isTransposed ? 1 - end : end;
      const double *from =
          &classes.messages[classes.offsets[classEdge.number][classEnd]];
      // An infinite entry forbids an option for the class, but perhaps not for
      // each node of the class: in a node's message, this entry stays zero.
      for (unsigned i = 0; i < edge.getNumIndices(end); ++i)
        if (from[i] != kInfinity)
          messages[to[end] + i] = from[i] / classEdge.numEdges;
    }
  }
}

//===----------------------------------------------------------------------===//
// A sweep
//===----------------------------------------------------------------------===//

/// Sets `beliefs` to the node's costs and the messages to it.
void Problem::MessagePassing::computeBeliefs(unsigned node) {
  llvm::ArrayRef<double> costs = problem.getCosts(node);
  beliefs.assign(costs.begin(), costs.end());
  for (unsigned e : problem.nodes[node].edges) {
    const Edge &edge = problem.edges[e];
    unsigned end = edge.getEnd(node);
    const double *message = &messages[offsets[e][end]];
    const uint16_t *indices = edge.indices[end].data();
    for (size_t option = 0; option < beliefs.size(); ++option)
      beliefs[option] += message[indices[option]];
  }
}

/// Sends a message from `end` of an edge to the other end. `beliefs` are those
/// of the node at `end`. Returns the least entry of the message, which is
/// subtracted from all entries.
double Problem::MessagePassing::sendMessage(unsigned e, unsigned end,
                                            double share) {
  const Edge &edge = problem.edges[e];
  const double *in = &messages[offsets[e][end]];
  llvm::MutableArrayRef<double> out(&messages[offsets[e][1 - end]],
                                    edge.getNumIndices(1 - end));
  const uint16_t *indices = edge.indices[end].data();
  unsigned numIndices = edge.getNumIndices(end);
  bestBeliefs.assign(numIndices, kInfinity);
  for (size_t option = 0; option < edge.indices[end].size(); ++option)
    bestBeliefs[indices[option]] =
        std::min(bestBeliefs[indices[option]], beliefs[option]);
  // The message from the other end is not sent back to it.
  for (unsigned index = 0; index < numIndices; ++index)
    if (bestBeliefs[index] != kInfinity) // else `in` may be infinite as well
      bestBeliefs[index] = share * bestBeliefs[index] - in[index];
  std::fill(out.begin(), out.end(), kInfinity);
  lowerToProduct(bestBeliefs, matricesFrom[e][end]->values.data(), out);
  double least = *std::min_element(out.begin(), out.end());
  if (least != kInfinity)
    for (double &entry : out)
      entry -= least;
  return least;
}

/// Visits all nodes in the order of their numbers, or in reverse order. Returns
/// the bound.
double Problem::MessagePassing::sweep(bool forward) {
  double bound = 0;
  size_t numNodes = problem.nodes.size();
  for (size_t i = 0; i < numNodes; ++i) {
    unsigned number = forward ? i : numNodes - 1 - i;
    const Node &node = problem.nodes[number];
    computeBeliefs(number);
    // Each chain through the node gets an equal share of the node's beliefs.
    double share = 1.0 / std::max({node.numForward, node.numBackward, 1u});
    // A chain that ends at the node adds its share of the least belief to the
    // bound.
    double ending =
        1.0 - share * (forward ? node.numForward : node.numBackward);
    if (ending > 0)
      bound += ending * *std::min_element(beliefs.begin(), beliefs.end());
    for (unsigned e : node.edges) {
      unsigned end = problem.edges[e].getEnd(number);
      bool leadsForward = end == 0;
      if (leadsForward == forward)
        bound += sendMessage(e, end, share);
    }
  }
  return bound;
}

//===----------------------------------------------------------------------===//
// Iterations
//===----------------------------------------------------------------------===//

/// Moves the messages further in the direction of their last change.
void Problem::MessagePassing::extrapolate() {
  // The weight of the last change of a message grows from 0 towards 1.
  constexpr double kInertia = 2;
  double weight = numRising / (numRising + kInertia);
  if (weight == 0) {
    previousMessages = messages;
    return;
  }
  for (auto [message, previous] : llvm::zip_equal(messages, previousMessages)) {
    double change = message - std::exchange(previous, message);
    if (std::isfinite(change)) // both may be infinite
      message += weight * change;
  }
}

/// The amount by which rounding may have raised the bound of a sweep. A message
/// is the result of a few additions of numbers as large as the messages around
/// it, and every error in a message enters the bound once.
double Problem::MessagePassing::getRoundingError() const {
  constexpr double kNumAdditions = 4;
  double sum = 0;
  for (auto [edge, offset] : llvm::zip_equal(problem.edges, offsets)) {
    size_t size = size_t(edge.matrix->rows) + edge.matrix->columns;
    double largest = 0;
    for (double entry : llvm::ArrayRef(messages).slice(offset[0], size))
      if (std::isfinite(entry))
        largest = std::max(largest, std::abs(entry));
    sum += largest;
  }
  return kNumAdditions * std::numeric_limits<double>::epsilon() * sum;
}

double Problem::MessagePassing::getBound() {
  double bound = sweep(/*forward=*/true);
  return bound - getRoundingError();
}

double Problem::MessagePassing::iterate(unsigned count, double acceptableGap,
                                        Solution &solution) {
  // Decoding is as slow as a sweep, and the decoded selection changes slowly.
  constexpr unsigned kDecodeInterval = 8;
  double forwardBound = -kInfinity;
  for (unsigned i = 0; i < count && !(solution.getGap() <= acceptableGap);
       ++i) {
    extrapolate();
    forwardBound = sweep(/*forward=*/true);
    double bound = sweep(/*forward=*/false);
    double roundingError = getRoundingError();
    forwardBound -= roundingError;
    numRising = bound > std::exchange(lastBound, bound) ? numRising + 1 : 0;
    solution.lowerBound = std::max(solution.lowerBound, bound - roundingError);
    if ((i + 1) % kDecodeInterval == 0 || i + 1 == count)
      solution.improve(problem, decode());
  }
  return forwardBound;
}

//===----------------------------------------------------------------------===//
// Results of the messages
//===----------------------------------------------------------------------===//

std::vector<unsigned> Problem::MessagePassing::decode() {
  std::vector<unsigned> selection(problem.nodes.size(), 0);
  for (unsigned node = 0; node < selection.size(); ++node) {
    llvm::ArrayRef<double> costs = problem.getCosts(node);
    beliefs.assign(costs.begin(), costs.end());
    for (unsigned e : problem.nodes[node].edges) {
      const Edge &edge = problem.edges[e];
      unsigned end = edge.getEnd(node);
      const double *added = &messages[offsets[e][0]];
      if (end == 1) {
        // The node at end 0 comes earlier in the order: its option is known.
        const CostMatrix &matrix = *edge.matrix;
        unsigned row = edge.indices[0][selection[edge.nodes[0]]];
        added = &matrix.values[size_t(row) * matrix.columns];
      }
      const uint16_t *indices = edge.indices[end].data();
      for (size_t option = 0; option < beliefs.size(); ++option)
        beliefs[option] += added[indices[option]];
    }
    selection[node] =
        std::min_element(beliefs.begin(), beliefs.end()) - beliefs.begin();
  }
  return selection;
}

std::vector<double> Problem::MessagePassing::getReducedCosts() const {
  std::vector<double> result = problem.costs;
  for (auto [edge, offset] : llvm::zip_equal(problem.edges, offsets))
    for (unsigned end : {0, 1}) {
      double *belief = &result[problem.nodes[edge.nodes[end]].firstCost];
      for (uint16_t index : edge.indices[end])
        *belief++ += messages[offset[end] + index];
    }
  for (const Node &node : problem.nodes) {
    llvm::MutableArrayRef<double> own(&result[node.firstCost], node.numOptions);
    double least = *std::min_element(own.begin(), own.end());
    for (double &belief : own) // all are infinite if nothing is allowed
      belief = least == kInfinity ? 0 : belief - least;
  }
  return result;
}
