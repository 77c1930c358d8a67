// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Solver/PBQP.h"

#include "gtest/gtest.h"

#include <cmath>
#include <deque>
#include <limits>
#include <random>
#include <set>

using namespace tp;

namespace {

/// A random problem with integer costs; each node is joined to so many earlier
/// ones, of which some may be the same. One pair in `forbidden` is, if not 0.
struct Problem {
  pbqp::Problem labeling;
  std::deque<pbqp::CostMatrix> matrices;
  std::deque<std::vector<uint16_t>> ports;
  std::vector<unsigned> sizes;
  std::set<std::pair<unsigned, unsigned>> joined;
  unsigned forbidden;

  Problem(unsigned seed, unsigned count, unsigned edges, unsigned forbidden = 0)
      : forbidden(forbidden) {
    std::mt19937 random(seed);
    for (unsigned n = 0; n < count; ++n) {
      sizes.push_back(1 + random() % 4);
      std::vector<double> costs(sizes[n]);
      for (double &cost : costs)
        cost = random() % 10;
      labeling.addNode(costs);
      for (unsigned k = 0; n > 0 && k < edges; ++k)
        join(random() % n, n, random);
    }
  }

  /// Ports are fewer than candidates, as layouts are fewer than strategies.
  void join(unsigned from, unsigned to, std::mt19937 &random) {
    joined.insert({from, to});
    pbqp::CostMatrix &matrix = matrices.emplace_back(2, 3);
    for (double &value : matrix.values)
      value = forbidden && random() % forbidden == 0
                  ? std::numeric_limits<double>::infinity()
                  : random() % 10;
    auto choose = [&](unsigned candidates,
                      unsigned states) -> std::vector<uint16_t> & {
      std::vector<uint16_t> &result = ports.emplace_back(candidates);
      for (uint16_t &port : result)
        port = random() % states;
      return result;
    };
    labeling.addEdge(from, choose(sizes[from], 2), to, choose(sizes[to], 3),
                     matrix);
  }

  double bruteForce() {
    std::vector<unsigned> labels(sizes.size(), 0);
    double best = std::numeric_limits<double>::infinity();
    while (true) {
      best = std::min(best, labeling.evaluate(labels));
      size_t i = 0;
      while (i < labels.size() && ++labels[i] == sizes[i])
        labels[i++] = 0;
      if (i == labels.size())
        return best;
    }
  }
};

// On trees the answer is the optimum, and the bound proves it.
TEST(PBQP, SolvesTreesExactly) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Problem problem(seed, 2 + seed % 7, /*edges=*/1);
    pbqp::Problem::Solution solution = problem.labeling.solve();
    double best = problem.bruteForce();
    EXPECT_EQ(solution.cost, best) << "seed " << seed;
    EXPECT_EQ(problem.labeling.evaluate(solution.labels), solution.cost);
    EXPECT_LE(solution.lowerBound, best + 1e-9) << "seed " << seed;
    EXPECT_NEAR(solution.lowerBound, best, 1e-6) << "seed " << seed;
  }
}

// What a candidate would cost more: alone, and with neighbours that follow.
TEST(PBQP, TellsRegrets) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Problem problem(seed, 2 + seed % 5, /*edges=*/1);
    std::vector<unsigned> labels = problem.labeling.solve().labels;
    double best = problem.labeling.evaluate(labels);
    for (unsigned node = 0; node < labels.size(); ++node) {
      auto alone = problem.labeling.getRegrets(labels, node,
                                               [](unsigned) { return false; });
      auto together = problem.labeling.getRegrets(
          labels, node, [](unsigned) { return true; });
      for (unsigned c = 0; c < problem.sizes[node]; ++c) {
        std::vector<unsigned> changed = labels;
        changed[node] = c;
        EXPECT_NEAR(alone[c], problem.labeling.evaluate(changed) - best, 1e-9);
        // In a tree neighbours do not touch each other: one after the other.
        for (unsigned other = 0; other < labels.size(); ++other) {
          if (!problem.joined.count(std::minmax(node, other)))
            continue;
          std::vector<unsigned> trial = changed;
          for (trial[other] = 0; trial[other] < problem.sizes[other];
               ++trial[other])
            if (problem.labeling.evaluate(trial) <
                problem.labeling.evaluate(changed))
              changed = trial;
        }
        EXPECT_NEAR(together[c], problem.labeling.evaluate(changed) - best,
                    1e-9);
      }
      EXPECT_EQ(alone[labels[node]], 0);
    }
  }
}

// So it is with cycles, of pairs of nodes that are joined several times, too.
TEST(PBQP, SolvesGraphsWithCycles) {
  for (unsigned edges : {2, 3, 5})
    for (unsigned seed = 0; seed < 300; ++seed) {
      Problem problem(seed, 3 + seed % 6, edges, seed % 3 == 0 ? 4 : 0);
      pbqp::Problem::Solution solution = problem.labeling.solve();
      double best = problem.bruteForce();
      EXPECT_EQ(solution.cost, best) << "seed " << seed;
      if (std::isinf(best))
        continue; // all choices are forbidden
      EXPECT_EQ(problem.labeling.evaluate(solution.labels), best);
      EXPECT_LE(solution.lowerBound, best + 1e-9) << "seed " << seed;
      EXPECT_LE(solution.getGap(), 1e-6) << "seed " << seed;
    }
}

// Where tables would be too large, the bound stays a bound, and the answer is
// often optimal.
TEST(PBQP, SearchesWithinItsMeans) {
  unsigned optimal = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    Problem problem(seed, 24, /*edges=*/3);
    pbqp::Problem::Solution best = problem.labeling.solve({200, 1e9});
    EXPECT_LE(best.getGap(), 1e-6) << "seed " << seed;
    pbqp::Problem::Solution solution = problem.labeling.solve({1, 100});
    EXPECT_LE(solution.lowerBound, best.cost + 1e-9) << "seed " << seed;
    EXPECT_GE(solution.cost, best.cost) << "seed " << seed;
    EXPECT_EQ(problem.labeling.evaluate(solution.labels), solution.cost);
    optimal += solution.cost == best.cost;
  }
  EXPECT_GE(optimal, 70u);
  EXPECT_LT(optimal, 100u) << "nothing was too large";
}

/// Every node joined to every other, four candidates each: too entangled for
/// messages alone. Some pairs are forbidden.
struct Tangle : Problem {
  explicit Tangle(unsigned seed) : Problem(0, 0, 1) {
    std::mt19937 random(seed);
    const std::vector<uint16_t> &identity =
        ports.emplace_back(std::vector<uint16_t>{0, 1, 2, 3});
    for (unsigned n = 0; n < 6; ++n) {
      sizes.push_back(4);
      std::vector<double> costs(4);
      for (double &cost : costs)
        cost = 300 + random() % 30;
      labeling.addNode(costs);
      for (unsigned other = 0; other < n; ++other) {
        pbqp::CostMatrix &matrix = matrices.emplace_back(4, 4);
        for (double &value : matrix.values)
          value = random() % 8 == 0 ? std::numeric_limits<double>::infinity()
                                    : random() % 30;
        labeling.addEdge(other, identity, n, identity, matrix);
      }
    }
  }
};

// Candidates only go if no better choice has them: with whatever means, what is
// said to be the best choice is.
TEST(PBQP, ClosesGaps) {
  constexpr double kMeans[] = {30, 100, 300};
  unsigned closed[3] = {0, 0, 0};
  for (unsigned seed = 0; seed < 1500; ++seed) {
    Tangle problem(seed);
    double best = problem.bruteForce();
    for (unsigned i = 0; i < 3; ++i) {
      pbqp::Problem::Solution solution =
          problem.labeling.solve({200, kMeans[i]});
      EXPECT_LE(solution.lowerBound, best + 1e-6) << "seed " << seed;
      EXPECT_GE(solution.cost, best) << "seed " << seed;
      EXPECT_EQ(problem.labeling.evaluate(solution.labels), solution.cost);
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

/// Three long chains, joined at every place, of nodes that would all rather be
/// like their neighbours: what one end costs is felt at the other.
struct Ribbon : Problem {
  explicit Ribbon(unsigned seed) : Problem(0, 0, 1) {
    constexpr unsigned kLength = 60, kWidth = 3, kCandidates = 6;
    std::mt19937 random(seed);
    std::vector<uint16_t> &identity = ports.emplace_back();
    pbqp::CostMatrix &matrix = matrices.emplace_back(kCandidates, kCandidates);
    for (unsigned i = 0; i < kCandidates; ++i) {
      identity.push_back(i);
      for (unsigned j = 0; j < kCandidates; ++j)
        matrix.at(i, j) = i == j ? 0 : 20 + random() % 10;
    }
    for (unsigned n = 0; n < kLength * kWidth; ++n) {
      std::vector<double> costs(kCandidates);
      for (double &cost : costs)
        cost = random() % 12;
      labeling.addNode(costs);
      if (n % kWidth != 0)
        labeling.addEdge(n - 1, identity, n, identity, matrix);
      if (n >= kWidth)
        labeling.addEdge(n - kWidth, identity, n, identity, matrix);
    }
  }
};

// Messages carry that over any distance, in few rounds: of one seed in 42, as
// candidates go on the way; most take fewer than 24.
TEST(PBQP, TellsOverDistances) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Ribbon problem(seed);
    pbqp::Problem::Solution best = problem.labeling.solve({1, 1e9});
    EXPECT_TRUE(best.isClosed()) << "seed " << seed;
    pbqp::Problem::Solution solution = problem.labeling.solve({42, 100});
    EXPECT_TRUE(solution.isClosed()) << "seed " << seed;
    EXPECT_EQ(solution.cost, best.cost) << "seed " << seed;
  }
}

/// Some choice avoids all costs of edges. What is left to decide, the costs of
/// nodes, is below the rounding of sums with edges: as in a partition that
/// sends nothing, where only preferences tell plans apart.
struct Dust : Problem {
  explicit Dust(unsigned seed) : Problem(0, 0, 1) {
    constexpr unsigned kLength = 20, kWidth = 3, kCandidates = 3;
    std::mt19937 random(seed);
    std::vector<uint16_t> &identity = ports.emplace_back();
    for (unsigned i = 0; i < kCandidates; ++i)
      identity.push_back(i);
    for (unsigned n = 0; n < kLength * kWidth; ++n) {
      std::vector<double> costs(kCandidates);
      for (double &cost : costs)
        cost = 1e-13 * (1 + random() % 100);
      labeling.addNode(costs);
      auto join = [&](unsigned other) {
        pbqp::CostMatrix &matrix =
            matrices.emplace_back(kCandidates, kCandidates);
        for (unsigned i = 0; i < kCandidates; ++i)
          for (unsigned j = 0; j < kCandidates; ++j)
            matrix.at(i, j) =
                i == j || random() % 2 == 0 ? 0 : 48.192 * (random() % 60);
        labeling.addEdge(other, identity, n, identity, matrix);
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

// A bound is only as exact as the sums behind it. A choice that is reported as
// the best is the best, and rounding never removes all candidates of a node.
TEST(PBQP, KnowsHowItsBoundsAreRounded) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Dust problem(seed);
    pbqp::Problem::Solution best = problem.labeling.solve({1, 1e9});
    EXPECT_TRUE(best.isClosed()) << "seed " << seed;
    for (double work : {100, 1000, 10000}) {
      pbqp::Problem::Solution solution = problem.labeling.solve({200, work});
      EXPECT_LE(solution.lowerBound, best.cost * (1 + 1e-9)) << "seed " << seed;
      EXPECT_EQ(problem.labeling.evaluate(solution.labels), solution.cost);
      if (solution.isClosed())
        EXPECT_LE(solution.cost, best.cost * (1 + 1e-9)) << "seed " << seed;
    }
  }
}

// A forbidden pair is never chosen if there is another way.
TEST(PBQP, AvoidsForbiddenPairs) {
  pbqp::Problem labeling;
  double infinity = std::numeric_limits<double>::infinity();
  unsigned a = labeling.addNode({0, 5});
  unsigned b = labeling.addNode({0, 0});
  pbqp::CostMatrix matrix(2, 2);
  matrix.values = {infinity, infinity, 3, 1};
  const uint16_t ports[] = {0, 1};
  labeling.addEdge(a, ports, b, ports, matrix);
  pbqp::Problem::Solution solution = labeling.solve();
  EXPECT_EQ(solution.labels, (std::vector<unsigned>{1, 1}));
  EXPECT_EQ(solution.cost, 6);
}

/// A chain of `layers` equal layers of a few nodes each, with ends of their
/// own.
struct Layers : Problem {
  Layers(unsigned seed, unsigned layers) : Problem(0, 0, 1) {
    std::mt19937 random(seed);
    unsigned depth = 1 + random() % 4;
    std::vector<pbqp::CostMatrix *> edges;
    std::vector<std::vector<double>> costs;
    for (unsigned i = 0; i < depth; ++i) {
      pbqp::CostMatrix &matrix = matrices.emplace_back(3, 3);
      for (double &value : matrix.values)
        value = random() % 10;
      edges.push_back(&matrix);
      costs.push_back(
          {double(random() % 4), double(random() % 4), double(random() % 4)});
    }
    const std::vector<uint16_t> &identity =
        ports.emplace_back(std::vector<uint16_t>{0, 1, 2});
    for (unsigned n = 0; n < layers * depth; ++n) {
      sizes.push_back(3);
      std::vector<double> own = costs[n % depth];
      if (n == 0 || n + 1 == layers * depth)
        own = {double(random() % 4), double(random() % 4), 50};
      nodeCosts.push_back(own);
      labeling.addNode(own);
      if (n > 0) {
        labeling.addEdge(n - 1, identity, n, identity, *edges[n % depth]);
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
        double least = std::numeric_limits<double>::infinity();
        for (unsigned from = 0; from < 3; ++from)
          least = std::min(least, best[from] + chain[n - 1]->at(from, to));
        next[to] += least;
      }
      best = next;
    }
    return *std::min_element(best.begin(), best.end());
  }

  std::vector<std::vector<double>> nodeCosts;
  std::vector<const pbqp::CostMatrix *> chain;
};

// Repeated layers are planned once, and no worse for that: also where the best
// choice differs at the ends or alternates from layer to layer.
TEST(PBQP, SolvesRepeatedLayers) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Layers problem(seed, 100 + seed % 3);
    pbqp::Problem::Solution solution = problem.labeling.solve();
    EXPECT_EQ(solution.cost, problem.solveChain()) << "seed " << seed;
    EXPECT_EQ(problem.labeling.evaluate(solution.labels), solution.cost);
  }
}

/// Layers of four nodes, all joined to each other and the last two to the first
/// two of the next layer, equal but for the ends.
struct Ladder : Problem {
  Ladder(unsigned seed, unsigned layers) : Problem(0, 0, 1) {
    std::mt19937 random(seed);
    constexpr unsigned kWidth = 4, kCandidates = 5;
    const std::vector<uint16_t> &identity =
        ports.emplace_back(std::vector<uint16_t>{0, 1, 2, 3, 4});
    auto draw = [&](unsigned least, unsigned spread) {
      std::vector<double> costs(kCandidates);
      for (double &cost : costs)
        cost = least + random() % spread;
      return costs;
    };
    std::vector<std::vector<double>> costs;
    for (unsigned i = 0; i < kWidth; ++i)
      costs.push_back(draw(200, 40));
    std::vector<pbqp::CostMatrix *> inside, between;
    for (unsigned i = 0; i < 6 + 4; ++i) {
      pbqp::CostMatrix &matrix =
          matrices.emplace_back(kCandidates, kCandidates);
      for (double &value : matrix.values)
        value = random() % 40;
      (i < 6 ? inside : between).push_back(&matrix);
    }
    for (unsigned layer = 0; layer < layers; ++layer) {
      unsigned first = layer * kWidth;
      for (unsigned i = 0; i < kWidth; ++i)
        labeling.addNode(layer == 0 || layer + 1 == layers ? draw(0, 400)
                                                           : costs[i]);
      unsigned next = 0;
      for (unsigned to = 1; to < kWidth; ++to)
        for (unsigned from = 0; from < to; ++from)
          labeling.addEdge(first + from, identity, first + to, identity,
                           *inside[next++]);
      for (unsigned i = 0; layer > 0 && i < 4; ++i)
        labeling.addEdge(first - 1 - i / 2, identity, first + i % 2, identity,
                         *between[i]);
    }
  }
};

// Where tables cannot tell, the bound is one for all choices, also those that
// differ from layer to layer, and the answer is close.
TEST(PBQP, SolvesRepeatedLayersWithCycles) {
  double most = 0, sum = 0;
  constexpr unsigned kSeeds = 60;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Ladder problem(seed, 40 + seed % 3);
    pbqp::Problem::Solution best = problem.labeling.solve({200, 1e9});
    EXPECT_TRUE(best.isClosed()) << "seed " << seed;
    pbqp::Problem::Solution solution = problem.labeling.solve({200, 2000});
    EXPECT_LE(solution.lowerBound, best.cost * (1 + 1e-9)) << "seed " << seed;
    EXPECT_GE(solution.cost, best.cost) << "seed " << seed;
    EXPECT_EQ(problem.labeling.evaluate(solution.labels), solution.cost);
    double excess = solution.cost / best.cost - 1;
    most = std::max(most, excess);
    sum += excess;
  }
  EXPECT_LE(most, 0.02);
  EXPECT_LE(sum / kSeeds, 0.002);
}

} // namespace
