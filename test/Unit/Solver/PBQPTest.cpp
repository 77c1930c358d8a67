// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Solver/PBQP.h"

#include "gtest/gtest.h"

#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <random>
#include <set>

using namespace tp;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// With this effort only the reductions find the optimum as a lower bound.
/// Bucket elimination is given no work, and the bounds of message passing are
/// lowered by rounding errors.
constexpr solver::Problem::Effort kReductionsOnly = {/*sweeps=*/1, /*work=*/0};

/// A random problem with integer costs. Each node is joined to `edges` earlier
/// ones, of which some may be the same. If `forbidden` is not zero, one pair of
/// options in so many is forbidden.
struct RandomProblem {
  solver::Problem graph;
  std::deque<solver::CostMatrix> matrices;
  std::deque<std::vector<uint16_t>> indices;
  std::vector<unsigned> sizes; ///< The numbers of options.
  std::set<std::pair<unsigned, unsigned>> joined;
  unsigned forbidden;

  RandomProblem(unsigned seed, unsigned count, unsigned edges,
                unsigned forbidden = 0)
      : forbidden(forbidden) {
    std::mt19937 random(seed);
    for (unsigned n = 0; n < count; ++n) {
      sizes.push_back(1 + random() % 4);
      std::vector<double> costs(sizes[n]);
      for (double &cost : costs)
        cost = random() % 10;
      graph.addNode(costs);
      for (unsigned k = 0; n > 0 && k < edges; ++k)
        join(random() % n, n, random);
    }
  }

  /// An empty problem.
  explicit RandomProblem(unsigned forbidden = 0) : forbidden(forbidden) {}

  /// A node of up to `maxSize` options.
  unsigned addNode(unsigned maxSize, std::mt19937 &random) {
    sizes.push_back(1 + random() % maxSize);
    std::vector<double> costs(sizes.back());
    for (double &cost : costs)
      cost = draw(random);
    return graph.addNode(costs);
  }

  double draw(std::mt19937 &random) {
    return forbidden && random() % forbidden == 0 ? kInfinity : random() % 10;
  }

  /// Options share rows and columns.
  void join(unsigned from, unsigned to, std::mt19937 &random) {
    joined.insert({from, to});
    solver::CostMatrix &matrix = matrices.emplace_back(2, 3);
    for (double &value : matrix.values)
      value = draw(random);
    auto drawIndices = [&](unsigned size,
                           unsigned limit) -> std::vector<uint16_t> & {
      std::vector<uint16_t> &result = indices.emplace_back(size);
      for (uint16_t &index : result)
        index = random() % limit;
      return result;
    };
    std::vector<uint16_t> &rows = drawIndices(sizes[from], 2);
    std::vector<uint16_t> &columns = drawIndices(sizes[to], 3);
    graph.addEdge(from, rows, to, columns, matrix);
  }

  /// The optimum, by a look at every selection.
  double bruteForce() {
    std::vector<unsigned> selection(sizes.size(), 0);
    double best = kInfinity;
    while (true) {
      best = std::min(best, graph.evaluate(selection));
      size_t i = 0;
      while (i < selection.size() && ++selection[i] == sizes[i])
        selection[i++] = 0;
      if (i == selection.size())
        return best;
    }
  }

  /// Expects that reductions alone find an optimum, and prove it.
  void expectReduced(unsigned seed) {
    solver::Problem::Solution solution = graph.solve(kReductionsOnly);
    double best = bruteForce();
    EXPECT_EQ(solution.cost, best) << "seed " << seed;
    EXPECT_EQ(solution.lowerBound, best) << "seed " << seed;
    EXPECT_EQ(graph.evaluate(solution.selection), best) << "seed " << seed;
  }
};

// The example in the header.
TEST(PBQP, SolvesTheExample) {
  solver::Problem graph;
  unsigned a = graph.addNode({0, 2}), b = graph.addNode({1, 0});
  solver::CostMatrix matrix(2, 2);
  matrix.values = {4, 6, 3, 0};
  const uint16_t identity[] = {0, 1};
  graph.addEdge(a, identity, b, identity, matrix);
  EXPECT_EQ(graph.evaluate({0, 0}), 5);
  EXPECT_EQ(graph.evaluate({0, 1}), 6);
  EXPECT_EQ(graph.evaluate({1, 0}), 6);
  solver::Problem::Solution solution = graph.solve();
  EXPECT_EQ(solution.selection, (std::vector<unsigned>{1, 1}));
  EXPECT_EQ(solution.cost, 2);
  EXPECT_EQ(solution.lowerBound, 2);
}

// Nodes without edges.
TEST(PBQP, ReducesDegreeZero) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    RandomProblem problem(/*forbidden=*/3);
    for (unsigned n = 0; n < seed % 7; ++n)
      problem.addNode(/*maxSize=*/5, random);
    problem.expectReduced(seed);
  }
}

// Trees, whose edges may be doubled. Nodes have any order in them.
TEST(PBQP, ReducesDegreeOne) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    RandomProblem problem(/*forbidden=*/seed % 2 ? 5 : 0);
    std::vector<unsigned> order;
    for (unsigned n = 0; n < 2 + seed % 6; ++n)
      order.push_back(problem.addNode(/*maxSize=*/5, random));
    for (size_t n = order.size(); n-- > 1;)
      std::swap(order[n], order[random() % (n + 1)]);
    for (size_t n = 1; n < order.size(); ++n) {
      auto [from, to] = std::minmax(order[n], order[random() % n]);
      for (unsigned k = 0; k < 1 + random() % 2; ++k)
        problem.join(from, to, random);
    }
    problem.expectReduced(seed);
  }
}

// Cycles, and what grows from them when a node is joined to both ends of an
// edge.
TEST(PBQP, ReducesDegreeTwo) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    RandomProblem problem(/*forbidden=*/seed % 2 ? 5 : 0);
    unsigned length = 3 + seed % 3;
    for (unsigned n = 0; n < length + seed % 4; ++n)
      problem.addNode(/*maxSize=*/4, random);
    std::vector<std::pair<unsigned, unsigned>> edges;
    auto join = [&](unsigned from, unsigned to) {
      problem.join(from, to, random);
      edges.push_back({from, to});
    };
    for (unsigned n = 1; n < length; ++n)
      join(n - 1, n);
    join(0, length - 1);
    for (unsigned n = length; n < problem.sizes.size(); ++n) {
      auto [from, to] = edges[random() % edges.size()];
      join(from, n);
      join(to, n);
    }
    problem.expectReduced(seed);
  }
}

// Of options that no edge tells apart the cheapest is left. Here it is the only
// one, so that nodes of degree three are reduced as well.
TEST(PBQP, RemovesDominatedOptions) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    RandomProblem problem(/*forbidden=*/5);
    const std::vector<uint16_t> &zeros =
        problem.indices.emplace_back(std::vector<uint16_t>(5, 0));
    for (unsigned n = 0; n < 4; ++n) {
      problem.addNode(/*maxSize=*/5, random);
      for (unsigned other = 0; other < n; ++other) {
        solver::CostMatrix &matrix = problem.matrices.emplace_back(1, 1);
        matrix.at(0, 0) = random() % 10;
        llvm::ArrayRef<uint16_t> indices(zeros);
        problem.graph.addEdge(other, indices.take_front(problem.sizes[other]),
                              n, indices.take_front(problem.sizes[n]), matrix);
      }
    }
    problem.expectReduced(seed);
  }
}

// Whatever the effort, no selection is cheaper than the bound, and what is said
// to be optimal is.
TEST(PBQP, BoundsTheOptimum) {
  constexpr solver::Problem::Effort kEfforts[] = {
      {1, 0}, {1, 100}, {8, 30}, {40, 100}, {200, 1000}};
  unsigned numClosed = 0, numOpen = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    RandomProblem problem(seed, 5 + seed % 5, /*edges=*/4 + seed % 3,
                          /*forbidden=*/seed % 2 ? 6 : 0);
    double best = problem.bruteForce();
    for (solver::Problem::Effort effort : kEfforts) {
      solver::Problem::Solution solution = problem.graph.solve(effort);
      if (!std::isinf(best)) {
        EXPECT_LE(solution.lowerBound, best + 1e-6) << "seed " << seed;
      }
      EXPECT_GE(solution.cost, best) << "seed " << seed;
      EXPECT_EQ(problem.graph.evaluate(solution.selection), solution.cost);
      if (solution.isClosed()) {
        EXPECT_EQ(solution.cost, best) << "seed " << seed;
      }
      ++(solution.isClosed() ? numClosed : numOpen);
    }
  }
  EXPECT_GT(numClosed, 100u);
  EXPECT_GT(numOpen, 50u) << "everything was solved";
}

// On trees the answer is the optimum, and the bound proves it.
TEST(PBQP, SolvesTreesExactly) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    RandomProblem problem(seed, 2 + seed % 7, /*edges=*/1);
    solver::Problem::Solution solution = problem.graph.solve();
    double best = problem.bruteForce();
    EXPECT_EQ(solution.cost, best) << "seed " << seed;
    EXPECT_EQ(problem.graph.evaluate(solution.selection), solution.cost);
    EXPECT_LE(solution.lowerBound, best + 1e-9) << "seed " << seed;
    EXPECT_NEAR(solution.lowerBound, best, 1e-6) << "seed " << seed;
  }
}

// What an option would cost more: alone, and with neighbours that adapt.
TEST(PBQP, TellsRegrets) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    RandomProblem problem(seed, 2 + seed % 5, /*edges=*/1);
    std::vector<unsigned> selection = problem.graph.solve().selection;
    double best = problem.graph.evaluate(selection);
    for (unsigned node = 0; node < selection.size(); ++node) {
      auto alone = problem.graph.getRegrets(selection, node,
                                            [](unsigned) { return false; });
      auto together = problem.graph.getRegrets(selection, node,
                                               [](unsigned) { return true; });
      for (unsigned c = 0; c < problem.sizes[node]; ++c) {
        std::vector<unsigned> changed = selection;
        changed[node] = c;
        EXPECT_NEAR(alone[c], problem.graph.evaluate(changed) - best, 1e-9);
        // In a tree no neighbours are joined to each other: one after the
        // other.
        for (unsigned other = 0; other < selection.size(); ++other) {
          if (!problem.joined.count(std::minmax(node, other)))
            continue;
          std::vector<unsigned> trial = changed;
          for (trial[other] = 0; trial[other] < problem.sizes[other];
               ++trial[other])
            if (problem.graph.evaluate(trial) < problem.graph.evaluate(changed))
              changed = trial;
        }
        EXPECT_NEAR(together[c], problem.graph.evaluate(changed) - best, 1e-9);
      }
      EXPECT_EQ(alone[selection[node]], 0);
    }
  }
}

// The same holds with cycles, and with several edges between two nodes.
TEST(PBQP, SolvesGraphsWithCycles) {
  for (unsigned edges : {2, 3, 5})
    for (unsigned seed = 0; seed < 300; ++seed) {
      RandomProblem problem(seed, 3 + seed % 6, edges, seed % 3 == 0 ? 4 : 0);
      solver::Problem::Solution solution = problem.graph.solve();
      double best = problem.bruteForce();
      EXPECT_EQ(solution.cost, best) << "seed " << seed;
      if (std::isinf(best))
        continue; // every selection is forbidden
      EXPECT_EQ(problem.graph.evaluate(solution.selection), best);
      EXPECT_LE(solution.lowerBound, best + 1e-9) << "seed " << seed;
      EXPECT_LE(solution.getGap(), 1e-6) << "seed " << seed;
    }
}

// Where tables would be too large, the bound stays a bound, and the answer is
// often optimal.
TEST(PBQP, SearchesWithinItsMeans) {
  unsigned optimal = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    RandomProblem problem(seed, 24, /*edges=*/3);
    solver::Problem::Solution best = problem.graph.solve({200, 1e9});
    EXPECT_LE(best.getGap(), 1e-6) << "seed " << seed;
    solver::Problem::Solution solution = problem.graph.solve({1, 100});
    EXPECT_LE(solution.lowerBound, best.cost + 1e-9) << "seed " << seed;
    EXPECT_GE(solution.cost, best.cost) << "seed " << seed;
    EXPECT_EQ(problem.graph.evaluate(solution.selection), solution.cost);
    optimal += solution.cost == best.cost;
  }
  EXPECT_GE(optimal, 70u);
  EXPECT_LT(optimal, 100u) << "nothing was too large";
}

/// Every node joined to every other, with four options each. Message passing by
/// itself does not solve that. Some pairs are forbidden.
struct Tangle : RandomProblem {
  explicit Tangle(unsigned seed) : RandomProblem() {
    std::mt19937 random(seed);
    const std::vector<uint16_t> &identity =
        indices.emplace_back(std::vector<uint16_t>{0, 1, 2, 3});
    for (unsigned n = 0; n < 6; ++n) {
      sizes.push_back(4);
      std::vector<double> costs(4);
      for (double &cost : costs)
        cost = 300 + random() % 30;
      graph.addNode(costs);
      for (unsigned other = 0; other < n; ++other) {
        solver::CostMatrix &matrix = matrices.emplace_back(4, 4);
        for (double &value : matrix.values)
          value = random() % 8 == 0 ? kInfinity : random() % 30;
        graph.addEdge(other, identity, n, identity, matrix);
      }
    }
  }
};

// Options are only removed if no better selection has them: whatever the
// effort, what is said to be optimal is.
TEST(PBQP, ClosesGaps) {
  constexpr double kWork[] = {30, 100, 300};
  unsigned closed[3] = {0, 0, 0};
  for (unsigned seed = 0; seed < 1500; ++seed) {
    Tangle problem(seed);
    double best = problem.bruteForce();
    for (unsigned i = 0; i < 3; ++i) {
      solver::Problem::Solution solution = problem.graph.solve({200, kWork[i]});
      EXPECT_LE(solution.lowerBound, best + 1e-6) << "seed " << seed;
      EXPECT_GE(solution.cost, best) << "seed " << seed;
      EXPECT_EQ(problem.graph.evaluate(solution.selection), solution.cost);
      if (solution.isClosed()) {
        EXPECT_EQ(solution.cost, best) << "seed " << seed;
        ++closed[i];
      }
    }
  }
  EXPECT_GE(closed[0], 300u);
  EXPECT_GT(closed[2], closed[0]);
  EXPECT_LT(closed[2], 750u) << "nothing was too large";
}

/// Three long chains, joined at every place. Each node would rather have the
/// option of its neighbours, so that the costs at one end matter at the other.
struct Ribbon : RandomProblem {
  explicit Ribbon(unsigned seed) : RandomProblem() {
    constexpr unsigned kLength = 60, kWidth = 3, kOptions = 6;
    std::mt19937 random(seed);
    std::vector<uint16_t> &identity = indices.emplace_back();
    solver::CostMatrix &matrix = matrices.emplace_back(kOptions, kOptions);
    for (unsigned i = 0; i < kOptions; ++i) {
      identity.push_back(i);
      for (unsigned j = 0; j < kOptions; ++j)
        matrix.at(i, j) = i == j ? 0 : 20 + random() % 10;
    }
    for (unsigned n = 0; n < kLength * kWidth; ++n) {
      std::vector<double> costs(kOptions);
      for (double &cost : costs)
        cost = random() % 12;
      graph.addNode(costs);
      if (n % kWidth != 0)
        graph.addEdge(n - 1, identity, n, identity, matrix);
      if (n >= kWidth)
        graph.addEdge(n - kWidth, identity, n, identity, matrix);
    }
  }
};

// Messages carry that over any distance in few iterations: most seeds take
// fewer than 24. One takes 42, as options are removed on the way.
TEST(PBQP, TellsOverDistances) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Ribbon problem(seed);
    solver::Problem::Solution best = problem.graph.solve({1, 1e9});
    EXPECT_TRUE(best.isClosed()) << "seed " << seed;
    solver::Problem::Solution solution = problem.graph.solve({42, 100});
    EXPECT_TRUE(solution.isClosed()) << "seed " << seed;
    EXPECT_EQ(solution.cost, best.cost) << "seed " << seed;
  }
}

/// Some selections avoid all costs of edges. They differ in the costs of nodes,
/// which are below the rounding of sums with costs of edges.
struct Dust : RandomProblem {
  explicit Dust(unsigned seed) : RandomProblem() {
    constexpr unsigned kLength = 20, kWidth = 3, kOptions = 3;
    std::mt19937 random(seed);
    std::vector<uint16_t> &identity = indices.emplace_back();
    for (unsigned i = 0; i < kOptions; ++i)
      identity.push_back(i);
    for (unsigned n = 0; n < kLength * kWidth; ++n) {
      std::vector<double> costs(kOptions);
      for (double &cost : costs)
        cost = 1e-13 * (1 + random() % 100);
      graph.addNode(costs);
      auto join = [&](unsigned other) {
        solver::CostMatrix &matrix = matrices.emplace_back(kOptions, kOptions);
        for (unsigned i = 0; i < kOptions; ++i)
          for (unsigned j = 0; j < kOptions; ++j)
            matrix.at(i, j) =
                i == j || random() % 2 == 0 ? 0 : 48.192 * (random() % 60);
        graph.addEdge(other, identity, n, identity, matrix);
      };
      if (n % kWidth != 0)
        join(n - 1);
      if (n >= kWidth)
        join(n - kWidth);
      if (n > 3 * kWidth && random() % 3 == 0)
        join(random() % n);
    }
  }
};

// A bound is only as exact as the sums behind it. A selection that is reported
// as optimal is, and rounding never removes all options of a node.
TEST(PBQP, KnowsHowItsBoundsAreRounded) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Dust problem(seed);
    solver::Problem::Solution best = problem.graph.solve({1, 1e9});
    EXPECT_TRUE(best.isClosed()) << "seed " << seed;
    for (double work : {100, 1000, 10000}) {
      solver::Problem::Solution solution = problem.graph.solve({200, work});
      EXPECT_LE(solution.lowerBound, best.cost * (1 + 1e-9)) << "seed " << seed;
      EXPECT_EQ(problem.graph.evaluate(solution.selection), solution.cost);
      if (solution.isClosed())
        EXPECT_LE(solution.cost, best.cost * (1 + 1e-9)) << "seed " << seed;
    }
  }
}

// A forbidden pair is never selected if there is another way.
TEST(PBQP, AvoidsForbiddenPairs) {
  solver::Problem graph;
  unsigned a = graph.addNode({0, 5});
  unsigned b = graph.addNode({0, 0});
  solver::CostMatrix matrix(2, 2);
  matrix.values = {kInfinity, kInfinity, 3, 1};
  const uint16_t identity[] = {0, 1};
  graph.addEdge(a, identity, b, identity, matrix);
  solver::Problem::Solution solution = graph.solve();
  EXPECT_EQ(solution.selection, (std::vector<unsigned>{1, 1}));
  EXPECT_EQ(solution.cost, 6);
}

/// A chain of `layers` equal layers of a few nodes each, with ends of their
/// own.
struct Layers : RandomProblem {
  Layers(unsigned seed, unsigned layers) : RandomProblem() {
    std::mt19937 random(seed);
    unsigned depth = 1 + random() % 4;
    std::vector<solver::CostMatrix *> edges;
    std::vector<std::vector<double>> costs;
    for (unsigned i = 0; i < depth; ++i) {
      solver::CostMatrix &matrix = matrices.emplace_back(3, 3);
      for (double &value : matrix.values)
        value = random() % 10;
      edges.push_back(&matrix);
      costs.push_back(
          {double(random() % 4), double(random() % 4), double(random() % 4)});
    }
    const std::vector<uint16_t> &identity =
        indices.emplace_back(std::vector<uint16_t>{0, 1, 2});
    for (unsigned n = 0; n < layers * depth; ++n) {
      sizes.push_back(3);
      std::vector<double> own = costs[n % depth];
      if (n == 0 || n + 1 == layers * depth)
        own = {double(random() % 4), double(random() % 4), 50};
      nodeCosts.push_back(own);
      graph.addNode(own);
      if (n > 0) {
        graph.addEdge(n - 1, identity, n, identity, *edges[n % depth]);
        chain.push_back(edges[n % depth]);
      }
    }
  }

  /// The optimum, by dynamic programming along the chain.
  double solveChain() {
    std::vector<double> best = nodeCosts[0];
    for (size_t n = 1; n < nodeCosts.size(); ++n) {
      std::vector<double> next = nodeCosts[n];
      for (unsigned to = 0; to < 3; ++to) {
        double least = kInfinity;
        for (unsigned from = 0; from < 3; ++from)
          least = std::min(least, best[from] + chain[n - 1]->at(from, to));
        next[to] += least;
      }
      best = next;
    }
    return *std::min_element(best.begin(), best.end());
  }

  std::vector<std::vector<double>> nodeCosts;
  std::vector<const solver::CostMatrix *> chain;
};

// Repeated layers are solved once, and no worse for that, also where the
// optimum differs at the ends or alternates from layer to layer.
TEST(PBQP, SolvesRepeatedLayers) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Layers problem(seed, 100 + seed % 3);
    solver::Problem::Solution solution = problem.graph.solve();
    EXPECT_EQ(solution.cost, problem.solveChain()) << "seed " << seed;
    EXPECT_EQ(problem.graph.evaluate(solution.selection), solution.cost);
  }
}

/// Layers of four nodes, all joined to each other and the last two to the first
/// two of the next layer, equal but for the ends.
struct Ladder : RandomProblem {
  Ladder(unsigned seed, unsigned layers) : RandomProblem() {
    std::mt19937 random(seed);
    constexpr unsigned kWidth = 4, kOptions = 5;
    const std::vector<uint16_t> &identity =
        indices.emplace_back(std::vector<uint16_t>{0, 1, 2, 3, 4});
    auto draw = [&](unsigned least, unsigned spread) {
      std::vector<double> costs(kOptions);
      for (double &cost : costs)
        cost = least + random() % spread;
      return costs;
    };
    std::vector<std::vector<double>> costs;
    for (unsigned i = 0; i < kWidth; ++i)
      costs.push_back(draw(200, 40));
    std::vector<solver::CostMatrix *> inside, between;
    for (unsigned i = 0; i < 6 + 4; ++i) {
      solver::CostMatrix &matrix = matrices.emplace_back(kOptions, kOptions);
      for (double &value : matrix.values)
        value = random() % 40;
      (i < 6 ? inside : between).push_back(&matrix);
    }
    for (unsigned layer = 0; layer < layers; ++layer) {
      unsigned first = layer * kWidth;
      for (unsigned i = 0; i < kWidth; ++i)
        graph.addNode(layer == 0 || layer + 1 == layers ? draw(0, 400)
                                                        : costs[i]);
      unsigned next = 0;
      for (unsigned to = 1; to < kWidth; ++to)
        for (unsigned from = 0; from < to; ++from)
          graph.addEdge(first + from, identity, first + to, identity,
                        *inside[next++]);
      for (unsigned i = 0; layer > 0 && i < 4; ++i)
        graph.addEdge(first - 1 - i / 2, identity, first + i % 2, identity,
                      *between[i]);
    }
  }
};

// Where tables would be too large, the bound holds for all selections, also
// those that differ from layer to layer, and the answer is close.
TEST(PBQP, SolvesRepeatedLayersWithCycles) {
  double most = 0, sum = 0;
  constexpr unsigned kSeeds = 60;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Ladder problem(seed, 40 + seed % 3);
    solver::Problem::Solution best = problem.graph.solve({200, 1e9});
    EXPECT_TRUE(best.isClosed()) << "seed " << seed;
    solver::Problem::Solution solution = problem.graph.solve({200, 2000});
    EXPECT_LE(solution.lowerBound, best.cost * (1 + 1e-9)) << "seed " << seed;
    EXPECT_GE(solution.cost, best.cost) << "seed " << seed;
    EXPECT_EQ(problem.graph.evaluate(solution.selection), solution.cost);
    double excess = solution.cost / best.cost - 1;
    most = std::max(most, excess);
    sum += excess;
  }
  EXPECT_LE(most, 0.02);
  EXPECT_LE(sum / kSeeds, 0.002);
}

/// Solves two copies of a problem, which differ in all addresses.
template <typename Make>
void expectDeterminism(Make make, solver::Problem::Effort effort) {
  auto first = make(), second = make();
  solver::Problem::Solution a = first->graph.solve(effort);
  solver::Problem::Solution b = second->graph.solve(effort);
  EXPECT_EQ(a.selection, b.selection);
  EXPECT_EQ(a.cost, b.cost);
  EXPECT_EQ(a.lowerBound, b.lowerBound);
  // And the first a second time.
  EXPECT_EQ(first->graph.solve(effort).selection, a.selection);
}

// The same problem has the same solution, whichever steps the effort allows.
TEST(PBQP, IsDeterministic) {
  constexpr solver::Problem::Effort kEfforts[] = {
      {200, 6e6}, {200, 2000}, {8, 50}};
  for (solver::Problem::Effort effort : kEfforts)
    for (unsigned seed = 0; seed < 10; ++seed) {
      expectDeterminism(
          [&] { return std::make_unique<RandomProblem>(seed, 24, 3, 8); },
          effort);
      expectDeterminism([&] { return std::make_unique<Tangle>(seed); }, effort);
      expectDeterminism([&] { return std::make_unique<Ribbon>(seed); }, effort);
      expectDeterminism([&] { return std::make_unique<Dust>(seed); }, effort);
      expectDeterminism([&] { return std::make_unique<Ladder>(seed, 20); },
                        effort);
    }
}

} // namespace
