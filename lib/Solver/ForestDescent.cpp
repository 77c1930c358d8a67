// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ForestDescent.h"
#include "Infinity.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tp;
using namespace tp::solver;

void Problem::ForestDescent::improve(Solution &solution) const {
  constexpr unsigned kMaxSteps = 40;
  // A smaller gain may be rounding error.
  constexpr double kLeastGain = 1e-12;
  for (unsigned step = 0; step < kMaxSteps; ++step) {
    std::vector<unsigned> trial = solution.selection;
    optimize(growForest(getOrder(step)), trial);
    double before = solution.cost;
    solution.improve(problem, std::move(trial));
    if (!(solution.cost < before - kLeastGain * std::abs(before)))
      return;
  }
}

/// The order in which the forest of a step grows: all nodes ascending, or the
/// first half descending and then the second half descending.
std::vector<unsigned> Problem::ForestDescent::getOrder(unsigned step) const {
  size_t numNodes = problem.nodes.size();
  std::vector<unsigned> order(numNodes);
  std::iota(order.begin(), order.end(), 0);
  if (step % 2 == 1) {
    std::rotate(order.begin(), order.begin() + numNodes / 2, order.end());
    std::reverse(order.begin(), order.end());
  }
  return order;
}

/// Takes each node, in the given order, unless it closes a cycle.
std::vector<char>
Problem::ForestDescent::chooseNodes(llvm::ArrayRef<unsigned> order) const {
  std::vector<char> chosen(problem.nodes.size(), 0);
  // The trees so far. They are the classes of a union-find structure.
  std::vector<unsigned> treeOf(problem.nodes.size());
  std::iota(treeOf.begin(), treeOf.end(), 0);
  auto findTree = [&](unsigned node) {
    while (treeOf[node] != node)
      node = treeOf[node] = treeOf[treeOf[node]];
    return node;
  };
  for (unsigned node : order) {
    // Several edges to one neighbour do not close a cycle.
    llvm::SmallVector<unsigned, 8> neighbours, trees;
    bool closesCycle = false;
    for (unsigned e : problem.nodes[node].edges) {
      unsigned other = problem.edges[e].getOther(node);
      if (!chosen[other] || llvm::is_contained(neighbours, other))
        continue;
      neighbours.push_back(other);
      closesCycle |= llvm::is_contained(trees, findTree(other));
      trees.push_back(findTree(other));
    }
    if (closesCycle)
      continue;
    chosen[node] = 1;
    for (unsigned tree : trees)
      treeOf[tree] = node;
  }
  return chosen;
}

Problem::ForestDescent::Forest
Problem::ForestDescent::growForest(llvm::ArrayRef<unsigned> order) const {
  Forest forest;
  forest.contains = chooseNodes(order);
  forest.parents.assign(problem.nodes.size(), kNone);
  std::vector<char> seen(problem.nodes.size(), 0);
  // Breadth first from one root per tree.
  for (unsigned root : order) {
    if (!forest.contains[root] || seen[root])
      continue;
    seen[root] = 1;
    size_t next = forest.nodes.size();
    forest.nodes.push_back(root);
    while (next < forest.nodes.size()) {
      unsigned node = forest.nodes[next++];
      for (unsigned e : problem.nodes[node].edges) {
        unsigned other = problem.edges[e].getOther(node);
        if (!forest.contains[other] || seen[other])
          continue;
        seen[other] = 1;
        forest.parents[other] = node;
        forest.nodes.push_back(other);
      }
    }
  }
  return forest;
}

/// Gives the nodes of the forest their best options. All others keep theirs.
void Problem::ForestDescent::optimize(const Forest &forest,
                                      std::vector<unsigned> &selection) const {
  // Indexed by option: the cost of the node's subtree, from the leaves up.
  std::vector<double> sums = problem.costs;
  for (unsigned node : llvm::reverse(forest.nodes)) {
    llvm::SmallVector<const Edge *, 2> edgesToParent;
    for (unsigned e : problem.nodes[node].edges) {
      const Edge &edge = problem.edges[e];
      unsigned other = edge.getOther(node);
      if (!forest.contains[other])
        addFixedEnd(edge, node, selection[other], sums);
      else if (other == forest.parents[node])
        edgesToParent.push_back(&edge);
    }
    if (!edgesToParent.empty())
      addSubtree(node, forest.parents[node], edgesToParent, sums);
  }
  // The best options, from the roots down.
  for (unsigned node : forest.nodes) {
    if (unsigned parent = forest.parents[node]; parent != kNone)
      for (unsigned e : problem.nodes[node].edges)
        if (problem.edges[e].getOther(node) == parent)
          addFixedEnd(problem.edges[e], node, selection[parent], sums);
    llvm::ArrayRef<double> own = getSums(sums, node);
    selection[node] = std::min_element(own.begin(), own.end()) - own.begin();
  }
}

/// Adds to each option of `node` the cost of an edge whose other end has the
/// given option.
void Problem::ForestDescent::addFixedEnd(const Edge &edge, unsigned node,
                                         unsigned otherOption,
                                         std::vector<double> &sums) const {
  for (auto [option, sum] : llvm::enumerate(getSums(sums, node)))
    sum += edge.getCost(node, option, otherOption);
}

/// Adds to each option of `parent` the least cost of the subtree of `child`
/// given that option.
void Problem::ForestDescent::addSubtree(unsigned child, unsigned parent,
                                        llvm::ArrayRef<const Edge *> edges,
                                        std::vector<double> &sums) const {
  if (edges.size() == 1)
    return addSubtree(child, *edges.front(), sums);
  llvm::ArrayRef<double> own = getSums(sums, child);
  for (auto [parentOption, sum] : llvm::enumerate(getSums(sums, parent))) {
    double least = kInfinity;
    for (auto [option, cost] : llvm::enumerate(own)) {
      double total = cost;
      for (const Edge *edge : edges)
        total += edge->getCost(child, option, parentOption);
      least = std::min(least, total);
    }
    sum += least;
  }
}

/// Adds to each option of the parent the least cost of the subtree of `child`,
/// which has only one edge to its parent. Options that share a row or a column
/// are compared only once.
void Problem::ForestDescent::addSubtree(unsigned child, const Edge &edge,
                                        std::vector<double> &sums) const {
  unsigned end = edge.getEnd(child);
  llvm::SmallVector<double, 32> best(edge.getNumIndices(end), kInfinity);
  for (auto [index, cost] :
       llvm::zip_equal(edge.indices[end], getSums(sums, child)))
    best[index] = std::min(best[index], cost);
  llvm::SmallVector<double, 32> answers(edge.getNumIndices(1 - end), kInfinity);
  for (unsigned to = 0; to < answers.size(); ++to)
    for (unsigned from = 0; from < best.size(); ++from)
      answers[to] = std::min(
          answers[to], best[from] + (end == 0 ? edge.matrix->at(from, to)
                                              : edge.matrix->at(to, from)));
  for (auto [index, sum] : llvm::zip_equal(edge.indices[1 - end],
                                           getSums(sums, edge.nodes[1 - end])))
    sum += answers[index];
}
