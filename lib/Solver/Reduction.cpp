// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Reduction.h"

#include "Product.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

using namespace tp;
using namespace tp::pbqp;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

Problem::Reduction::Reduction(const Problem &problem)
    : parts(problem.nodes.size()), costs(problem.costs),
      candidates(costs.size()) {
  edges.reserve(problem.edges.size());
  for (auto [node, part] : llvm::zip_equal(problem.nodes, parts)) {
    part.costs =
        llvm::MutableArrayRef(costs).slice(node.costs, node.numCandidates);
    part.candidates =
        llvm::MutableArrayRef(candidates).slice(node.costs, node.numCandidates);
    std::iota(part.candidates.begin(), part.candidates.end(), 0);
  }
  for (const Edge &edge : problem.edges)
    join(edge);
  for (unsigned number = parts.size(); number-- > 0;)
    worklist.push_back(number);
  simplify();
  buildCore();
}

Problem::Reduction::View Problem::Reduction::getView(unsigned node,
                                                     unsigned number) const {
  const Edge &edge = edges[number];
  unsigned end = edge.nodes[0] == node ? 0 : 1;
  size_t columns = edge.matrix->columns;
  return {edge.nodes[1 - end],       edge.ports[end],
          edge.ports[1 - end],       edge.getNumPorts(end),
          edge.getNumPorts(1 - end), edge.matrix->values.data(),
          end == 0 ? columns : 1,    end == 0 ? 1 : columns};
}

//===----------------------------------------------------------------------===//
// Edges
//===----------------------------------------------------------------------===//

void Problem::Reduction::join(const Edge &edge) {
  auto [a, b] = edge.nodes;
  const Part &fewer =
      parts[parts[a].edges.size() < parts[b].edges.size() ? a : b];
  for (unsigned number : fewer.edges) {
    Edge &present = edges[number];
    if (present.nodes[0] == a && present.nodes[1] == b) {
      present = merge(present, edge);
      return;
    }
  }
  parts[a].edges.push_back(edges.size());
  parts[b].edges.push_back(edges.size());
  edges.push_back(edge);
}

/// One edge for two. Layers repeat, and so do pairs of edges.
Problem::Edge Problem::Reduction::merge(const Edge &a, const Edge &b) {
  auto [from, to] = a.nodes;
  auto [it, isNew] =
      merged.try_emplace({a.matrix, a.ports[0].data(), a.ports[1].data(),
                          b.matrix, b.ports[0].data(), b.ports[1].data(),
                          &compaction.share(parts[from].candidates),
                          &compaction.share(parts[to].candidates)});
  if (isNew)
    it->second = makeMerged(a, b);
  const Edge &edge = it->second;
  return {{from, to}, {edge.ports[0], edge.ports[1]}, edge.matrix};
}

/// Its port states are the pairs of theirs that occur.
Problem::Edge Problem::Reduction::makeMerged(const Edge &a, const Edge &b) {
  Edge result = a;
  std::vector<size_t> pairs[2];
  for (unsigned end : {0, 1}) {
    const Part &part = parts[a.nodes[end]];
    std::vector<uint16_t> &states =
        ports.emplace_back(part.costs.size(), uint16_t(0));
    size_t others = b.getNumPorts(end);
    Compaction::Numbering numbering(a.getNumPorts(end) * others);
    for (unsigned c : part.candidates)
      states[c] = numbering.get(a.ports[end][c] * others + b.ports[end][c]);
    result.ports[end] = states;
    pairs[end] = std::move(numbering.values);
  }
  CostMatrix &sums = matrices.emplace_back(pairs[0].size(), pairs[1].size());
  size_t rows = b.matrix->rows, columns = b.matrix->columns;
  for (auto [i, row] : llvm::enumerate(pairs[0]))
    for (auto [j, column] : llvm::enumerate(pairs[1]))
      sums.at(i, j) = a.cost(row / rows, column / columns) +
                      b.cost(row % rows, column % columns);
  result.matrix = &sums;
  return result;
}

//===----------------------------------------------------------------------===//
// The rules
//===----------------------------------------------------------------------===//

/// Its neighbours know it no longer; it keeps its edges, to be decided by.
void Problem::Reduction::remove(unsigned node) {
  parts[node].isRemoved = true;
  removed.push_back(node);
  for (unsigned number : parts[node].edges) {
    const Edge &edge = edges[number];
    unsigned other = edge.nodes[edge.nodes[0] == node];
    llvm::erase(parts[other].edges, number);
    parts[other].isDirty = true;
    worklist.push_back(other);
  }
}

/// A node with one candidate: what it is to its neighbours is known.
void Problem::Reduction::settle(unsigned node) {
  const Part &part = parts[node];
  unsigned only = part.candidates.front();
  constant += part.costs[only];
  for (unsigned number : part.edges) {
    View view = getView(node, number);
    Part &other = parts[view.other];
    for (unsigned c : other.candidates)
      other.costs[c] += view.cost(view.ports[only], view.otherPorts[c]);
  }
  remove(node);
}

/// A node with one neighbour: each of that one's candidates gets the best
/// answer.
void Problem::Reduction::fold(unsigned node) {
  const Part &part = parts[node];
  View view = getView(node, part.edges.front());
  std::vector<double> least(view.numPorts, kInfinity);
  for (unsigned c : part.candidates)
    least[view.ports[c]] = std::min(least[view.ports[c]], part.costs[c]);
  std::vector<double> answer(view.numOtherPorts, kInfinity);
  for (unsigned port = 0; port < view.numPorts; ++port)
    for (unsigned to = 0; to < view.numOtherPorts; ++to)
      answer[to] = std::min(answer[to], least[port] + view.cost(port, to));
  Part &other = parts[view.other];
  for (unsigned c : other.candidates)
    other.costs[c] += answer[view.otherPorts[c]];
  remove(node);
}

/// A node with two neighbours: for each pair of what they are to it, its best
/// answer. Layers repeat, and so do answers.
void Problem::Reduction::bridge(unsigned node) {
  const Part &part = parts[node];
  View from = getView(node, part.edges[0]), to = getView(node, part.edges[1]);
  if (from.other > to.other)
    std::swap(from, to);
  llvm::SmallVector<double, 64> own;
  for (unsigned c : part.candidates)
    own.push_back(part.costs[c]);
  const CostMatrix *&answers = bridges[{
      from.values, from.stride, from.ports.data(), to.values, to.stride,
      to.ports.data(), &compaction.share(part.candidates), &bridged.get(own)}];
  if (!answers)
    answers = &getAnswers(part, from, to);
  Edge edge{{from.other, to.other}, {from.otherPorts, to.otherPorts}, answers};
  remove(node);
  join(edge);
}

const CostMatrix &Problem::Reduction::getAnswers(const Part &part,
                                                 const View &from,
                                                 const View &to) {
  CostMatrix &answers =
      matrices.emplace_back(from.numOtherPorts, to.numOtherPorts);
  std::fill(answers.values.begin(), answers.values.end(), kInfinity);
  // Row by row of what the node is to the second.
  std::vector<double> turned;
  const double *rows = to.values;
  if (to.otherStride != 1) {
    for (unsigned port = 0; port < to.numPorts; ++port)
      for (unsigned column = 0; column < answers.columns; ++column)
        turned.push_back(to.cost(port, column));
    rows = turned.data();
  }
  std::vector<double> least(to.numPorts);
  for (unsigned row = 0; row < answers.rows; ++row) {
    std::fill(least.begin(), least.end(), kInfinity);
    for (unsigned c : part.candidates) {
      double &entry = least[to.ports[c]];
      entry = std::min(entry, part.costs[c] + from.cost(from.ports[c], row));
    }
    takeLeast(least, rows, {&answers.at(row, 0), answers.columns});
  }
  return answers;
}

/// Whether no two candidates look alike to one neighbour.
bool Problem::Reduction::areDistinct(const Part &part, const View &view) const {
  if (part.candidates.size() > view.numPorts)
    return false;
  llvm::SmallVector<char, 256> seen(view.numPorts, false);
  return llvm::none_of(part.candidates, [&](unsigned c) {
    return std::exchange(seen[view.ports[c]], true);
  });
}

/// Of candidates that look alike to all neighbours keeps the cheapest. Returns
/// whether some went.
bool Problem::Reduction::prune(unsigned node) {
  Part &part = parts[node];
  part.isDirty = false;
  // Most tell each copy of a value from the others.
  for (unsigned number : part.edges)
    if (areDistinct(part, getView(node, number)))
      return false;
  // By candidate, a number for what it looks like to the neighbours so far.
  llvm::SmallVector<size_t> looks(part.candidates.size(), 0);
  size_t numLooks = 1;
  for (unsigned number : part.edges) {
    View view = getView(node, number);
    Compaction::Numbering numbering(numLooks * view.numPorts);
    for (auto [look, c] : llvm::zip_equal(looks, part.candidates))
      look = numbering.get(look * view.numPorts + view.ports[c]);
    numLooks = numbering.values.size();
  }
  if (numLooks == part.candidates.size())
    return false;
  llvm::SmallVector<unsigned> best(numLooks, part.costs.size());
  for (auto [look, c] : llvm::zip_equal(looks, part.candidates))
    if (best[look] == part.costs.size() ||
        part.costs[c] < part.costs[best[look]])
      best[look] = c;
  llvm::sort(best);
  llvm::copy(best, part.candidates.begin());
  part.candidates = part.candidates.take_front(numLooks);
  return true;
}

void Problem::Reduction::simplify() {
  while (true) {
    while (!worklist.empty()) {
      unsigned node = worklist.back();
      worklist.pop_back();
      const Part &part = parts[node];
      if (part.isRemoved)
        continue;
      // Without neighbours the cheapest is left.
      if (part.edges.empty())
        prune(node);
      if (part.candidates.size() == 1)
        settle(node);
      else if (part.edges.size() == 1)
        fold(node);
      else if (part.edges.size() == 2)
        bridge(node);
    }
    // Only then is it worth looking at candidates.
    bool hasPruned = false;
    for (unsigned node = 0; node < parts.size(); ++node) {
      if (parts[node].isRemoved || !parts[node].isDirty || !prune(node))
        continue;
      hasPruned = true;
      worklist.push_back(node);
    }
    if (!hasPruned)
      return;
  }
}

//===----------------------------------------------------------------------===//
// What is left
//===----------------------------------------------------------------------===//

void Problem::Reduction::buildCore() {
  std::vector<unsigned> place(parts.size());
  std::vector<const Compaction::Candidates *> lists(parts.size());
  size_t numLeft = parts.size() - removed.size(), numCandidates = 0;
  for (const Part &part : parts)
    numCandidates += part.isRemoved ? 0 : part.candidates.size();
  core.reserveNodes(numLeft, numCandidates);
  coreNodes.reserve(numLeft);
  for (auto [node, part] : llvm::enumerate(parts)) {
    if (part.isRemoved)
      continue;
    llvm::SmallVector<double, 64> left;
    for (unsigned c : part.candidates)
      left.push_back(part.costs[c]);
    place[node] = core.addNode(left);
    lists[node] = &compaction.share(part.candidates);
    coreNodes.push_back(node);
  }
  for (unsigned node : coreNodes) {
    for (unsigned number : parts[node].edges) {
      const Edge &edge = edges[number];
      if (edge.nodes[0] != node)
        continue;
      unsigned other = edge.nodes[1];
      compaction.addEdge(core, edge, place[node], *lists[node], place[other],
                         *lists[other]);
    }
  }
}

std::vector<unsigned>
Problem::Reduction::expand(llvm::ArrayRef<unsigned> coreLabels) const {
  std::vector<unsigned> labels(parts.size());
  for (auto [node, label] : llvm::zip_equal(coreNodes, coreLabels))
    labels[node] = parts[node].candidates[label];
  for (unsigned node : llvm::reverse(removed)) {
    const Part &part = parts[node];
    double least = kInfinity;
    labels[node] = part.candidates.front();
    for (unsigned c : part.candidates) {
      double cost = part.costs[c];
      for (unsigned number : part.edges) {
        View view = getView(node, number);
        cost += view.cost(view.ports[c], view.otherPorts[labels[view.other]]);
      }
      if (cost < least) {
        least = cost;
        labels[node] = c;
      }
    }
  }
  return labels;
}
