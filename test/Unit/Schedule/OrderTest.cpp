// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Orders of hand-made and of random graphs. Orders of random ones are checked
// against the definition; of small ones all orders are tried.

#include "RandomLinks.h"

#include "passes/Schedule/Order.h"
#include "passes/Schedule/Overlap.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace tp::schedule;
using testing::ElementsAre;

namespace {

constexpr int64_t kMuchMemory = 1 << 20;

/// The problem of a graph whose nodes run in this order.
Problem toProblem(const Graph &graph, const std::vector<unsigned> &order) {
  Problem problem;
  std::vector<unsigned> place(graph.nodes.size()), transferOf(place);
  for (unsigned i : order) {
    place[i] = problem.steps.size();
    if (!graph.nodes[i].isTransfer())
      problem.steps.push_back(graph.nodes[i].seconds);
  }
  for (unsigned i : order) {
    const Node &node = graph.nodes[i];
    if (!node.isTransfer())
      continue;
    Transfer transfer = {0,
                         place[i],
                         unsigned(problem.steps.size()),
                         node.seconds,
                         1,
                         /*preparation=*/0,
                         {},
                         node.links};
    for (unsigned before : node.after) {
      if (graph.nodes[before].isTransfer())
        transfer.after.push_back(transferOf[before]);
      else
        transfer.earliest = std::max(transfer.earliest, place[before] + 1);
    }
    for (unsigned user = 0; user < graph.nodes.size(); ++user)
      if (!graph.nodes[user].isTransfer() &&
          llvm::is_contained(graph.nodes[user].after, i))
        transfer.needed = std::min(transfer.needed, place[user]);
    transferOf[i] = problem.transfers.size();
    problem.transfers.push_back(transfer);
  }
  return problem;
}

double getSeconds(const Graph &graph, const std::vector<unsigned> &order) {
  return overlap(toProblem(graph, order), {kMuchMemory, 64}).seconds;
}

std::vector<unsigned> getProgramOrder(const Graph &graph) {
  std::vector<unsigned> order(graph.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool isValid(const Graph &graph, const std::vector<unsigned> &order) {
  std::vector<bool> isRun(graph.nodes.size());
  for (unsigned i : order) {
    if (isRun[i])
      return false;
    for (unsigned before : graph.nodes[i].after)
      if (!isRun[before])
        return false;
    isRun[i] = true;
  }
  return order.size() == graph.nodes.size();
}

/// The backward pass of tensor-parallel layers: of each, the gradient of the
/// weight, that of the input, and the sum of the latter.
Graph makeBackward(unsigned numLayers) {
  Graph graph;
  for (unsigned layer = 0; layer < numLayers; ++layer) {
    llvm::SmallVector<unsigned, 4> below;
    if (layer > 0)
      below.push_back(3 * layer - 1);
    graph.nodes.push_back({2, below});
    graph.nodes.push_back({2, below});
    graph.nodes.push_back({2, {3 * layer + 1}, {}, {0}});
  }
  return graph;
}

TEST(Order, SumsTravelBesideGradientsOfWeights) {
  Graph graph = makeBackward(3);
  std::vector<unsigned> order = findOrder(graph, 8, kMuchMemory);
  EXPECT_THAT(order, ElementsAre(1, 2, 0, 4, 5, 3, 7, 8, 6));
  EXPECT_EQ(getSeconds(graph, getProgramOrder(graph)), 18);
  EXPECT_EQ(getSeconds(graph, order), 12);
}

// The gradient of a weight that is summed over a slow link goes first.
TEST(Order, TheBusierLinkGoesFirst) {
  Graph graph = makeBackward(1);
  graph.nodes.push_back({20, {0}, {}, {0}});
  EXPECT_THAT(findOrder(graph, 8, kMuchMemory), ElementsAre(0, 1, 2, 3));
}

// If the sum of a weight's gradient is carried behind that of the input's, the
// latter comes first. If it has a link of its own, and takes longest, it does.
TEST(Order, ASumWithALinkOfItsOwnGoesFirst) {
  Graph graph;
  graph.nodes = {{2},               // weight's gradient
                 {2},               // input's gradient
                 {2, {1}, {}, {0}}, // its sum
                 {5, {0}, {}, {0}}, // the weight's sum
                 {2, {2}}};         // the layer below
  std::vector<unsigned> order = findOrder(graph, 8, kMuchMemory);
  EXPECT_THAT(order, ElementsAre(1, 2, 0, 3, 4));
  EXPECT_EQ(getSeconds(graph, getProgramOrder(graph)), 11);
  EXPECT_EQ(getSeconds(graph, order), 9);
  graph.nodes[3].links = {1};
  EXPECT_EQ(getSeconds(graph, order), 9);
  order = findOrder(graph, 8, kMuchMemory);
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(getSeconds(graph, order), 8);
}

// What waits for its turn holds memory: the gradient of a weight needs an
// activation that nothing else does, and the layer below needs room.
TEST(Order, StaysWithinMemory) {
  Graph graph = makeBackward(2);
  graph.bytes = {100, 60, 60};
  graph.nodes[0].buffers = {0};
  graph.nodes[1].buffers = {1};
  graph.nodes[3].buffers = {0, 2};
  graph.nodes[4].buffers = {0, 1, 2};
  EXPECT_EQ(getPeakBytes(graph, getProgramOrder(graph)), 220);
  std::vector<unsigned> order = findOrder(graph, 8, 220);
  EXPECT_LE(getPeakBytes(graph, order), 220);
  EXPECT_THAT(order, ElementsAre(1, 2, 0, 4, 5, 3));
  // Without room, as written.
  EXPECT_THAT(findOrder(graph, 8, 0), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Order, NothingToOrder) {
  EXPECT_TRUE(findOrder({}, 8, kMuchMemory).empty());
  EXPECT_EQ(getPeakBytes({}, {}), 0);
  Graph chain;
  chain.nodes = {{1}, {1, {0}, {}, {0}}, {1, {1}}, {1, {2}}};
  EXPECT_THAT(findOrder(chain, 8, kMuchMemory), ElementsAre(0, 1, 2, 3));
}

Graph makeRandomGraph(std::mt19937 &engine, unsigned numNodes, unsigned density,
                      unsigned numLinks = 1) {
  auto below = [&](unsigned n) { return unsigned(engine() % n); };
  Graph graph;
  for (unsigned i = 0; i < numNodes; ++i)
    graph.bytes.push_back(below(10));
  for (unsigned i = 0; i < numNodes; ++i) {
    Node node = {double(below(6))};
    if (below(3) == 0)
      node.links = test::drawLinks(engine, numLinks);
    for (unsigned before = 0; before < i; ++before)
      if (below(density) == 0)
        node.after.push_back(before);
    for (unsigned buffer = 0; buffer < numNodes; ++buffer)
      if (below(4) == 0)
        node.buffers.push_back(buffer);
    graph.nodes.push_back(node);
  }
  return graph;
}

/// The bytes in use while each node runs, by the definition.
int64_t countPeakBytes(const Graph &graph, const std::vector<unsigned> &order) {
  int64_t peak = 0;
  for (size_t at = 0; at < order.size(); ++at) {
    int64_t bytes = 0;
    for (unsigned buffer = 0; buffer < graph.bytes.size(); ++buffer) {
      auto uses = [&](unsigned i) {
        return llvm::is_contained(graph.nodes[i].buffers, buffer);
      };
      if (std::any_of(order.begin(), order.begin() + at + 1, uses) &&
          std::any_of(order.begin() + at, order.end(), uses))
        bytes += graph.bytes[buffer];
    }
    peak = std::max(peak, bytes);
  }
  return peak;
}

std::vector<unsigned> getSteps(const Graph &graph,
                               std::vector<unsigned> order) {
  llvm::erase_if(order,
                 [&](unsigned i) { return graph.nodes[i].isTransfer(); });
  return order;
}

TEST(Order, RandomGraphs) {
  std::mt19937 engine(1);
  for (int round = 0; round < 20000; ++round) {
    Graph graph =
        makeRandomGraph(engine, engine() % 14, 2 + engine() % 4, 1 + round % 3);
    std::vector<unsigned> order =
        findOrder(graph, 1 + engine() % 8, engine() % 60);
    EXPECT_TRUE(isValid(graph, order));
    EXPECT_EQ(getPeakBytes(graph, order), countPeakBytes(graph, order));
    std::vector<unsigned> steps =
        getSteps(graph, findOrder(graph, 1, kMuchMemory));
    EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end()));
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

/// The fewest seconds of all orders of steps. Transfers may start as soon as
/// they can, so where they stand in the order does not matter.
double getBest(const Graph &graph) {
  std::vector<unsigned> order = getProgramOrder(graph);
  double best = 1e9;
  do
    if (isValid(graph, order))
      best = std::min(best, getSeconds(graph, order));
  while (std::next_permutation(order.begin(), order.end()));
  return best;
}

// Over 300 small graphs with memory enough, by all of their seconds. As in the
// pass, the best of some windows counts.
void compareOrders(unsigned numLinks, double most) {
  std::mt19937 engine(2);
  double mine = 0, best = 0, written = 0;
  for (int round = 0; round < 300; ++round) {
    Graph graph = makeRandomGraph(engine, 7, 3, numLinks);
    double seconds = getSeconds(graph, getProgramOrder(graph));
    written += seconds;
    for (unsigned window : {2, 4, 8})
      seconds = std::min(
          seconds, getSeconds(graph, findOrder(graph, window, kMuchMemory)));
    mine += seconds;
    best += getBest(graph);
  }
  EXPECT_LE(mine, most * best) << "written " << written;
}

TEST(Order, CloseToTheBestOfAll) { compareOrders(1, 1.03); }

TEST(Order, CloseToTheBestOfAllWithTwoLinks) { compareOrders(2, 1.03); }

} // namespace
