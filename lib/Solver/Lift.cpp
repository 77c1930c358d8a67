// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Lift.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

using namespace tp;
using namespace tp::pbqp;

/// How far nodes must look alike, in edges. What is done otherwise at the ends
/// is found behind this, with all nodes; the fewer classes, the sooner.
static constexpr unsigned kRadius = 3;

static uint64_t mix(uint64_t a, uint64_t b) { return llvm::hash_combine(a, b); }

/// Colours that are equal for nodes with equal costs whose surroundings are
/// equal up to the radius: each round tells a node the colours of its
/// neighbours (Weisfeiler and Leman, 1968).
std::vector<uint64_t> Problem::refineColours() const {
  std::vector<uint64_t> colours, next(nodes.size()), kinds;
  for (unsigned number = 0; number < nodes.size(); ++number) {
    llvm::ArrayRef<double> own = getCosts(number);
    colours.push_back(llvm::xxh3_64bits(
        llvm::ArrayRef(reinterpret_cast<const uint8_t *>(own.data()),
                       own.size() * sizeof(double))));
  }
  // Equal edges share ports and matrices.
  for (const Edge &edge : edges)
    kinds.push_back(llvm::hash_combine(edge.matrix, edge.ports[0].data(),
                                       edge.ports[1].data()));
  for (unsigned round = 0; round < kRadius; ++round) {
    for (auto [to, from] : llvm::zip_equal(next, colours))
      to = mix(from, round);
    for (auto [edge, kind] : llvm::zip_equal(edges, kinds)) {
      // Sums, as the edges of a node have no order.
      next[edge.nodes[0]] += mix(kind, colours[edge.nodes[1]]);
      next[edge.nodes[1]] += mix(~kind, colours[edge.nodes[0]]);
    }
    std::swap(colours, next);
  }
  return colours;
}

/// The problem over classes, none if it is not much smaller. What it says a
/// choice costs is exact: costs and edges count as often as they occur.
std::unique_ptr<Problem::Lifted> Problem::lift() const {
  auto lifted = std::make_unique<Lifted>();
  // Should colours ever coincide by chance, the plan is worse, not wrong, as
  // long as choices have the same numbers.
  llvm::DenseMap<std::pair<uint64_t, unsigned>, unsigned> classes;
  std::vector<unsigned> members, first;
  for (auto [number, colour] : llvm::enumerate(refineColours())) {
    std::pair<uint64_t, unsigned> key{colour >> 1, nodes[number].numCandidates};
    auto [it, isNew] = classes.try_emplace(key, members.size());
    if (isNew) {
      members.push_back(0);
      first.push_back(number);
    }
    ++members[it->second];
    lifted->classOf.push_back(it->second);
  }
  if (2 * members.size() > nodes.size())
    return nullptr;

  for (auto [count, number] : llvm::zip_equal(members, first)) {
    std::vector<double> sums = getCosts(number).vec();
    for (double &cost : sums)
      cost *= count;
    lifted->labeling.addNode(sums);
  }

  using Key =
      std::pair<std::pair<unsigned, unsigned>,
                std::pair<const CostMatrix *,
                          std::pair<const uint16_t *, const uint16_t *>>>;
  llvm::MapVector<Key, std::vector<unsigned>> joined;
  for (auto [number, edge] : llvm::enumerate(edges))
    joined[{{lifted->classOf[edge.nodes[0]], lifted->classOf[edge.nodes[1]]},
            {edge.matrix, {edge.ports[0].data(), edge.ports[1].data()}}}]
        .push_back(number);
  lifted->places.resize(edges.size());
  for (auto &[key, numbers] : joined) {
    auto [from, to] = key.first;
    const Edge &edge = edges[numbers.front()];
    const CostMatrix &matrix = *edge.matrix;
    unsigned count = numbers.size();
    // Edges lead to later nodes, and so may have to turn.
    Lifted::Place place{Lifted::kNone, count, from > to};
    if (from != to) {
      place.edge = lifted->labeling.edges.size();
      bool turn = place.isTurned;
      lifted->labeling.addEdge(turn ? to : from, edge.ports[turn ? 1 : 0],
                               turn ? from : to, edge.ports[turn ? 0 : 1],
                               lifted->getMatrix(matrix, count, turn));
    } else {
      // Both ends choose the same.
      double *sum = &lifted->labeling.costs[lifted->labeling.nodes[from].costs];
      for (auto [row, column] : llvm::zip_equal(edge.ports[0], edge.ports[1]))
        *sum++ += count * matrix.at(row, column);
    }
    for (unsigned number : numbers)
      lifted->places[number] = place;
  }
  return lifted;
}

const CostMatrix &Problem::Lifted::getMatrix(const CostMatrix &matrix,
                                             unsigned count, bool turn) {
  auto [it, isNew] = matrices.try_emplace({&matrix, count, turn},
                                          turn ? matrix.columns : matrix.rows,
                                          turn ? matrix.rows : matrix.columns);
  CostMatrix &sums = it->second;
  if (isNew)
    for (unsigned row = 0; row < sums.rows; ++row)
      for (unsigned column = 0; column < sums.columns; ++column)
        sums.at(row, column) =
            count * (turn ? matrix.at(column, row) : matrix.at(row, column));
  return sums;
}
