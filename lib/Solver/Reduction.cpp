// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Reduction.h"
#include "Infinity.h"

#include "MinPlus.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>
#include <utility>

using namespace tp;
using namespace tp::solver;

Problem::Reduction::Reduction(const Problem &problem)
    : nodes(problem.nodes.size()), costs(problem.costs), options(costs.size()) {
  for (auto [from, to] : llvm::zip_equal(problem.nodes, nodes)) {
    to.costs =
        llvm::MutableArrayRef(costs).slice(from.firstCost, from.numOptions);
    to.options =
        llvm::MutableArrayRef(options).slice(from.firstCost, from.numOptions);
    std::iota(to.options.begin(), to.options.end(), 0);
  }
  edges.reserve(problem.edges.size());
  for (const Edge &edge : problem.edges)
    addEdge(edge);
  applyRules();
  buildCore();
}

//===----------------------------------------------------------------------===//
// Edges
//===----------------------------------------------------------------------===//

Problem::Reduction::EdgeView
Problem::Reduction::getView(unsigned node, unsigned number) const {
  const Edge &edge = edges[number];
  unsigned end = edge.getEnd(node);
  size_t columns = edge.matrix->columns;
  return {edge.nodes[1 - end],         edge.indices[end],
          edge.indices[1 - end],       edge.getNumIndices(end),
          edge.getNumIndices(1 - end), edge.matrix->values.data(),
          end == 0 ? columns : 1,      end == 0 ? 1 : columns};
}

/// Adds an edge, or adds its costs to an edge between the same nodes.
void Problem::Reduction::addEdge(const Edge &edge) {
  auto [from, to] = edge.nodes;
  bool fromHasFewer = nodes[from].edges.size() < nodes[to].edges.size();
  for (unsigned number : nodes[fromHasFewer ? from : to].edges) {
    Edge &present = edges[number];
    if (present.nodes[0] == from && present.nodes[1] == to) {
      present = mergeParallel(present, edge);
      return;
    }
  }
  nodes[from].edges.push_back(edges.size());
  nodes[to].edges.push_back(edges.size());
  edges.push_back(edge);
}

Problem::Edge Problem::Reduction::mergeParallel(const Edge &a, const Edge &b) {
  auto [from, to] = a.nodes;
  auto [it, isNew] = mergedEdges.try_emplace(
      {a.matrix, a.indices[0].data(), a.indices[1].data(), b.matrix,
       b.indices[0].data(), b.indices[1].data(),
       &compaction.share(nodes[from].options),
       &compaction.share(nodes[to].options)});
  if (isNew)
    it->second = computeMerged(a, b);
  const Edge &merged = it->second;
  return {{from, to}, {merged.indices[0], merged.indices[1]}, merged.matrix};
}

/// The index of an option at the merged edge represents the pair of its indices
/// at `a` and `b`. Only pairs that occur get a row or a column.
Problem::Edge Problem::Reduction::computeMerged(const Edge &a, const Edge &b) {
  Edge merged = a;
  std::vector<size_t> pairs[2];
  for (unsigned end : {0, 1}) {
    const ReducedNode &node = nodes[a.nodes[end]];
    std::vector<uint16_t> &indices =
        indexLists.emplace_back(node.costs.size(), uint16_t(0));
    size_t numOfB = b.getNumIndices(end);
    Numbering numbering(a.getNumIndices(end) * numOfB);
    for (unsigned option : node.options)
      indices[option] = numbering.get(a.indices[end][option] * numOfB +
                                      b.indices[end][option]);
    merged.indices[end] = indices;
    pairs[end] = std::move(numbering.values);
  }
  CostMatrix &sums = matrices.emplace_back(pairs[0].size(), pairs[1].size());
  size_t rowsOfB = b.matrix->rows, columnsOfB = b.matrix->columns;
  for (auto [i, row] : llvm::enumerate(pairs[0]))
    for (auto [j, column] : llvm::enumerate(pairs[1]))
      sums.at(i, j) = a.matrix->at(row / rowsOfB, column / columnsOfB) +
                      b.matrix->at(row % rowsOfB, column % columnsOfB);
  merged.matrix = &sums;
  return merged;
}

//===----------------------------------------------------------------------===//
// The rules
//===----------------------------------------------------------------------===//

void Problem::Reduction::applyRules() {
  for (unsigned node = nodes.size(); node-- > 0;)
    worklist.push_back(node);
  while (!worklist.empty()) {
    reduceNodes();
    // Dominance is slower, as it compares all options of a node. So it is tried
    // only when the other rules can remove no more nodes.
    applyDominance();
  }
}

void Problem::Reduction::reduceNodes() {
  while (!worklist.empty()) {
    unsigned number = worklist.back();
    worklist.pop_back();
    const ReducedNode &node = nodes[number];
    if (node.isRemoved)
      continue;
    if (node.edges.empty())
      applyR0(number);
    else if (node.options.size() == 1)
      removeTrivial(number);
    else if (node.edges.size() == 1)
      applyRI(number);
    else if (node.edges.size() == 2)
      applyRII(number);
  }
}

void Problem::Reduction::applyDominance() {
  for (unsigned node = 0; node < nodes.size(); ++node)
    if (!nodes[node].isRemoved && nodes[node].mayHaveDominated &&
        removeDominated(node))
      worklist.push_back(node);
}

void Problem::Reduction::applyR0(unsigned number) {
  ReducedNode &node = nodes[number];
  unsigned *best = std::min_element(
      node.options.begin(), node.options.end(),
      [&](unsigned a, unsigned b) { return node.costs[a] < node.costs[b]; });
  constant += node.costs[*best];
  remove(number);
}

void Problem::Reduction::removeTrivial(unsigned number) {
  const ReducedNode &node = nodes[number];
  unsigned only = node.options.front();
  constant += node.costs[only];
  for (unsigned e : node.edges) {
    EdgeView view = getView(number, e);
    ReducedNode &other = nodes[view.other];
    for (unsigned option : other.options)
      other.costs[option] += view.getCost(only, option);
  }
  remove(number);
}

void Problem::Reduction::applyRI(unsigned number) {
  const ReducedNode &node = nodes[number];
  EdgeView view = getView(number, node.edges.front());
  // `best`: the node's least cost for each index at the node's end of the edge.
  // `answers`: the least cost of the node and the edge together, for each index
  // at the neighbour's end.
  std::vector<double> best(view.numIndices, kInfinity);
  std::vector<double> answers(view.numOtherIndices, kInfinity);
  for (unsigned option : node.options) {
    double &least = best[view.indices[option]];
    least = std::min(least, node.costs[option]);
  }
  for (unsigned from = 0; from < view.numIndices; ++from)
    for (unsigned to = 0; to < view.numOtherIndices; ++to)
      answers[to] = std::min(answers[to], best[from] + view.at(from, to));
  ReducedNode &other = nodes[view.other];
  for (unsigned option : other.options)
    other.costs[option] += answers[view.otherIndices[option]];
  remove(number);
}

void Problem::Reduction::applyRII(unsigned number) {
  const ReducedNode &node = nodes[number];
  EdgeView from = getView(number, node.edges[0]);
  EdgeView to = getView(number, node.edges[1]);
  if (from.other > to.other)
    std::swap(from, to);
  llvm::SmallVector<double, 64> own;
  for (unsigned option : node.options)
    own.push_back(node.costs[option]);
  const CostMatrix *&result = resultsOfRII[{
      from.values, from.stride, from.indices.data(), to.values, to.stride,
      to.indices.data(), &compaction.share(node.options), &costLists.get(own)}];
  if (!result)
    result = &computeRII(node, from, to);
  Edge edge{
      {from.other, to.other}, {from.otherIndices, to.otherIndices}, result};
  remove(number);
  addEdge(edge);
}

/// The cost of the best option of a node for each pair of indices that its
/// neighbours may have, with one row for each index of the first neighbour.
const CostMatrix &Problem::Reduction::computeRII(const ReducedNode &node,
                                                 const EdgeView &from,
                                                 const EdgeView &to) {
  CostMatrix &result =
      matrices.emplace_back(from.numOtherIndices, to.numOtherIndices);
  std::fill(result.values.begin(), result.values.end(), kInfinity);
  // The matrix of the second edge, with the node's indices as rows.
  std::vector<double> transposed;
  const double *rows = to.values;
  if (to.otherStride != 1) {
    for (unsigned row = 0; row < to.numIndices; ++row)
      for (unsigned column = 0; column < result.columns; ++column)
        transposed.push_back(to.at(row, column));
    rows = transposed.data();
  }
  // For one `row`: the node's least cost for each of its indices at `to`.
  std::vector<double> best(to.numIndices);
  for (unsigned row = 0; row < result.rows; ++row) {
    std::fill(best.begin(), best.end(), kInfinity);
    for (unsigned option : node.options) {
      double &least = best[to.indices[option]];
      least = std::min(least,
                       node.costs[option] + from.at(from.indices[option], row));
    }
    lowerToProduct(best, rows, {&result.at(row, 0), result.columns});
  }
  return result;
}

/// Removes a node from its neighbours' lists of edges. The removed node keeps
/// its own list of edges, so that its option can be chosen later.
void Problem::Reduction::remove(unsigned node) {
  nodes[node].isRemoved = true;
  removed.push_back(node);
  for (unsigned number : nodes[node].edges) {
    unsigned other = edges[number].getOther(node);
    llvm::erase(nodes[other].edges, number);
    nodes[other].mayHaveDominated = true;
    worklist.push_back(other);
  }
}

/// Returns true if no two options of the node have the same index at the edge
/// of `view`.
bool Problem::Reduction::areDistinct(const ReducedNode &node,
                                     const EdgeView &view) const {
  if (node.options.size() > view.numIndices)
    return false;
  llvm::SmallVector<char, 256> seen(view.numIndices, false);
  return llvm::none_of(node.options, [&](unsigned option) {
    return std::exchange(seen[view.indices[option]], true);
  });
}

/// Among options with equal indices at all edges, keeps only the cheapest.
/// Returns whether any was removed.
bool Problem::Reduction::removeDominated(unsigned number) {
  ReducedNode &node = nodes[number];
  node.mayHaveDominated = false;
  // Usually there is an edge at which no two options have the same index. Then
  // no option is removed.
  for (unsigned e : node.edges)
    if (areDistinct(node, getView(number, e)))
      return false;
  // The group of each option. Options with equal indices at all edges so far
  // share a group.
  llvm::SmallVector<size_t> groupOf(node.options.size(), 0);
  size_t numGroups = 1;
  for (unsigned e : node.edges) {
    EdgeView view = getView(number, e);
    Numbering numbering(numGroups * view.numIndices);
    for (auto [group, option] : llvm::zip_equal(groupOf, node.options))
      group = numbering.get(group * view.numIndices + view.indices[option]);
    numGroups = numbering.values.size();
  }
  if (numGroups == node.options.size())
    return false;
  const unsigned none = node.costs.size();
  llvm::SmallVector<unsigned> cheapest(numGroups, none);
  for (auto [group, option] : llvm::zip_equal(groupOf, node.options)) {
    unsigned &best = cheapest[group];
    if (best == none || node.costs[option] < node.costs[best])
      best = option;
  }
  llvm::sort(cheapest);
  llvm::copy(cheapest, node.options.begin());
  node.options = node.options.take_front(numGroups);
  return true;
}

//===----------------------------------------------------------------------===//
// The core
//===----------------------------------------------------------------------===//

void Problem::Reduction::buildCore() {
  std::vector<unsigned> numberInCore(nodes.size());
  std::vector<const Compaction::Options *> optionsLeft(nodes.size());
  size_t numOptions = 0;
  for (const ReducedNode &node : nodes)
    numOptions += node.isRemoved ? 0 : node.options.size();
  core.reserveNodes(nodes.size() - removed.size(), numOptions);
  coreNodes.reserve(nodes.size() - removed.size());
  for (auto [number, node] : llvm::enumerate(nodes)) {
    if (node.isRemoved)
      continue;
    llvm::SmallVector<double, 64> costsLeft;
    for (unsigned option : node.options)
      costsLeft.push_back(node.costs[option]);
    numberInCore[number] = core.addNode(costsLeft);
    optionsLeft[number] = &compaction.share(node.options);
    coreNodes.push_back(number);
  }
  for (unsigned node : coreNodes)
    for (unsigned number : nodes[node].edges) {
      const Edge &edge = edges[number];
      if (edge.nodes[0] != node)
        continue; // the other end adds this edge
      unsigned other = edge.nodes[1];
      compaction.addEdge(core, edge, numberInCore[node], *optionsLeft[node],
                         numberInCore[other], *optionsLeft[other]);
    }
}

std::vector<unsigned> Problem::Reduction::propagateBack(
    llvm::ArrayRef<unsigned> coreSelection) const {
  std::vector<unsigned> selection(nodes.size());
  for (auto [number, option] : llvm::zip_equal(coreNodes, coreSelection))
    selection[number] = nodes[number].options[option];
  for (unsigned number : llvm::reverse(removed)) {
    const ReducedNode &node = nodes[number];
    double least = kInfinity;
    selection[number] = node.options.front();
    for (unsigned option : node.options) {
      double cost = node.costs[option];
      for (unsigned e : node.edges) {
        EdgeView view = getView(number, e);
        cost += view.getCost(option, selection[view.other]);
      }
      if (cost < least) {
        least = cost;
        selection[number] = option;
      }
    }
  }
  return selection;
}
