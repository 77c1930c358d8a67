// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Plan/CopyTree.h"

#include "lib/Support/Random.h"

#include "gtest/gtest.h"

#include <limits>
#include <vector>

using namespace tp;
using namespace tp::plan;

namespace {

using Costs = std::vector<std::vector<double>>;

/// What the edges of a tree cost; infinite if it is none, or if it lacks a
/// layout that is needed.
double getCost(llvm::ArrayRef<unsigned> parents, unsigned required,
               const Costs &costs) {
  double sum = 0;
  for (unsigned node = 1; node < parents.size(); ++node) {
    if (parents[node] == kUnused) {
      if (node <= required)
        return std::numeric_limits<double>::infinity();
      continue;
    }
    sum += costs[parents[node]][node];
    unsigned at = node;
    for (unsigned steps = 0; at != 0; at = parents[at])
      if (parents[at] == kUnused || ++steps > parents.size())
        return std::numeric_limits<double>::infinity();
  }
  return sum;
}

/// The least cost of all trees.
double getLeast(unsigned count, unsigned required, const Costs &costs) {
  llvm::SmallVector<unsigned> parents(count, 0);
  double least = std::numeric_limits<double>::infinity();
  auto visit = [&](auto &&self, unsigned node) -> void {
    if (node == count) {
      least = std::min(least, getCost(parents, required, costs));
      return;
    }
    for (unsigned parent = 0; parent < count; ++parent) {
      if (parent == node)
        continue;
      parents[node] = parent;
      self(self, node + 1);
    }
    parents[node] = kUnused;
    self(self, node + 1);
  };
  visit(visit, 1);
  return least;
}

/// Costs as those of reshards are: no way is longer than one with a stop.
Costs draw(Random &random, unsigned count) {
  Costs costs(count, std::vector<double>(count));
  for (unsigned from = 0; from < count; ++from)
    for (unsigned to = 0; to < count; ++to)
      costs[from][to] = from == to ? 0 : double(random.draw(0, 20));
  for (unsigned via = 0; via < count; ++via)
    for (unsigned from = 0; from < count; ++from)
      for (unsigned to = 0; to < count; ++to)
        costs[from][to] =
            std::min(costs[from][to], costs[from][via] + costs[via][to]);
  return costs;
}

llvm::SmallVector<unsigned, 4> grow(unsigned required, const Costs &costs) {
  return growCopies(costs.size(), required, [&](unsigned from, unsigned to) {
    return costs[from][to];
  });
}

TEST(CopyTreeTest, ReusesCopies) {
  // The second copy is cheaper from the first than from the value.
  Costs costs{{0, 8, 8}, {8, 0, 0}, {8, 8, 0}};
  auto parents = grow(2, costs);
  EXPECT_EQ(parents[1], 0u);
  EXPECT_EQ(parents[2], 1u);
}

TEST(CopyTreeTest, LeavesOutWhatDoesNotPay) {
  // An annotation asks for layout 2 on the way to layout 1.
  Costs costs{{0, 5, 4}, {9, 0, 9}, {9, 3, 0}};
  auto parents = grow(1, costs);
  EXPECT_EQ(parents[1], 0u);
  EXPECT_EQ(parents[2], kUnused);
}

TEST(CopyTreeTest, KeepsWhatPays) {
  // Both copies are cheap from layout 3, which nobody needs.
  Costs costs{{0, 9, 9, 3}, {9, 0, 9, 9}, {9, 9, 0, 9}, {9, 1, 1, 0}};
  auto parents = grow(2, costs);
  EXPECT_EQ(parents[3], 0u);
  EXPECT_EQ(parents[1], 3u);
  EXPECT_EQ(parents[2], 3u);
}

TEST(CopyTreeTest, IsALeastTreeForUpToThreeCopies) {
  Random random(1);
  for (unsigned trial = 0; trial < 2000; ++trial) {
    unsigned count = random.draw(2, 4);
    unsigned required = random.draw(1, count - 1);
    Costs costs = draw(random, count);
    auto parents = grow(required, costs);
    EXPECT_EQ(getCost(parents, required, costs),
              getLeast(count, required, costs));
  }
}

TEST(CopyTreeTest, IsATreeAndSeldomFarFromTheLeast) {
  Random random(2);
  double sum = 0, least = 0;
  for (unsigned trial = 0; trial < 500; ++trial) {
    unsigned count = random.draw(2, 6);
    unsigned required = random.draw(1, count - 1);
    Costs costs = draw(random, count);
    auto parents = grow(required, costs);
    double cost = getCost(parents, required, costs);
    ASSERT_LT(cost, std::numeric_limits<double>::infinity());
    sum += cost;
    least += getLeast(count, required, costs);
  }
  EXPECT_LE(sum, 1.05 * least);
}

} // namespace
