// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Lifting.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

using namespace tp;
using namespace tp::solver;

/// The number of rounds of colour refinement: nodes of a class have the same
/// surroundings up to this distance, in edges. The best options of such nodes
/// may still differ, for instance near the ends of a chain. Solving the problem
/// of all nodes corrects that later. More rounds make more classes, which take
/// longer to solve and are not always solved to the optimum.
static constexpr unsigned kNumRounds = 3;

static uint64_t mix(uint64_t a, uint64_t b) { return llvm::hash_combine(a, b); }

std::unique_ptr<Problem::Lifting>
Problem::Lifting::create(const Problem &problem) {
  std::unique_ptr<Lifting> lifting(new Lifting(problem));
  lifting->formClasses();
  if (2 * lifting->numMembers.size() > problem.nodes.size())
    return nullptr;
  lifting->addClassNodes();
  lifting->addClassEdges();
  return lifting;
}

Problem::Lifting::Lifting(const Problem &problem) : problem(problem) {}

/// The colour of each node.
std::vector<uint64_t> Problem::Lifting::refineColours() const {
  std::vector<uint64_t> colours, next(problem.nodes.size()), edgeColours;
  for (unsigned node = 0; node < problem.nodes.size(); ++node) {
    llvm::ArrayRef<double> costs = problem.getCosts(node);
    colours.push_back(llvm::xxh3_64bits(
        llvm::ArrayRef(reinterpret_cast<const uint8_t *>(costs.data()),
                       costs.size() * sizeof(double))));
  }
  // Equal edges share indices and matrices.
  for (const Edge &edge : problem.edges)
    edgeColours.push_back(llvm::hash_combine(
        edge.matrix, edge.indices[0].data(), edge.indices[1].data()));
  for (unsigned round = 0; round < kNumRounds; ++round) {
    for (auto [to, from] : llvm::zip_equal(next, colours))
      to = mix(from, round);
    for (auto [edge, colour] : llvm::zip_equal(problem.edges, edgeColours)) {
      // Colours of neighbours are added up, because edges of a node have no
      // order. `~colour` tells the second end of an edge from the first.
      next[edge.nodes[0]] += mix(colour, colours[edge.nodes[1]]);
      next[edge.nodes[1]] += mix(~colour, colours[edge.nodes[0]]);
    }
    std::swap(colours, next);
  }
  return colours;
}

void Problem::Lifting::formClasses() {
  // If two colours are equal by accident, different nodes are in one class, and
  // the selection is worse than it could be. It is still valid, as all nodes of
  // a class have the same number of options.
  llvm::DenseMap<std::pair<uint64_t, unsigned>, unsigned> numbers;
  for (auto [node, colour] : llvm::enumerate(refineColours())) {
    // A DenseMap reserves the largest numbers as special keys.
    std::pair<uint64_t, unsigned> key{colour >> 1,
                                      problem.nodes[node].numOptions};
    auto [it, isNew] = numbers.try_emplace(key, numMembers.size());
    if (isNew) {
      numMembers.push_back(0);
      firstMembers.push_back(node);
    }
    ++numMembers[it->second];
    classOf.push_back(it->second);
  }
}

void Problem::Lifting::addClassNodes() {
  for (auto [count, node] : llvm::zip_equal(numMembers, firstMembers)) {
    std::vector<double> sums = problem.getCosts(node).vec();
    for (double &cost : sums)
      cost *= count;
    classes.addNode(sums);
  }
}

void Problem::Lifting::addClassEdges() {
  // Equal edges between the same classes are counted together.
  using ClassPair = std::pair<unsigned, unsigned>;
  using IndexLists = std::pair<const uint16_t *, const uint16_t *>;
  using Key = std::pair<ClassPair, std::pair<const CostMatrix *, IndexLists>>;
  llvm::MapVector<Key, std::vector<unsigned>> groups;
  for (auto [number, edge] : llvm::enumerate(problem.edges)) {
    ClassPair ends{classOf[edge.nodes[0]], classOf[edge.nodes[1]]};
    IndexLists indices{edge.indices[0].data(), edge.indices[1].data()};
    groups[{ends, {edge.matrix, indices}}].push_back(number);
  }
  classEdges.resize(problem.edges.size());
  for (auto &[key, numbers] : groups) {
    ClassEdge classEdge = addClassEdge(numbers);
    for (unsigned number : numbers)
      classEdges[number] = classEdge;
  }
}

/// Adds a single edge that represents many equal edges.
Problem::Lifting::ClassEdge
Problem::Lifting::addClassEdge(llvm::ArrayRef<unsigned> edges) {
  const Edge &edge = problem.edges[edges.front()];
  const CostMatrix &matrix = *edge.matrix;
  unsigned from = classOf[edge.nodes[0]], to = classOf[edge.nodes[1]];
  unsigned count = edges.size();
  // Every edge leads to a node of higher number, but the numbers of the classes
  // of its two nodes may be in the opposite order.
  bool transpose = from > to;
  if (from == to) {
    // Both ends of an edge inside a class take the same option, so the cost of
    // the edge is added to the cost of this option.
    double *sum = &classes.costs[classes.nodes[from].firstCost];
    for (auto [row, column] : llvm::zip_equal(edge.indices[0], edge.indices[1]))
      *sum++ += count * matrix.at(row, column);
    return {kNone, count, transpose};
  }
  unsigned number = classes.edges.size();
  const CostMatrix &sums = getMatrix(matrix, count, transpose);
  if (transpose)
    classes.addEdge(to, edge.indices[1], from, edge.indices[0], sums);
  else
    classes.addEdge(from, edge.indices[0], to, edge.indices[1], sums);
  return {number, count, transpose};
}

const CostMatrix &Problem::Lifting::getMatrix(const CostMatrix &matrix,
                                              unsigned numEdges,
                                              bool transpose) {
  auto [it, isNew] = matrices.try_emplace(
      {&matrix, numEdges, transpose}, transpose ? matrix.columns : matrix.rows,
      transpose ? matrix.rows : matrix.columns);
  CostMatrix &sums = it->second;
  if (isNew)
    for (unsigned row = 0; row < sums.rows; ++row)
      for (unsigned column = 0; column < sums.columns; ++column)
        sums.at(row, column) = numEdges * (transpose ? matrix.at(column, row)
                                                     : matrix.at(row, column));
  return sums;
}
