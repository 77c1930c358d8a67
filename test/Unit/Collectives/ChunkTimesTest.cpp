// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Times of chunked products, beside a device that computes and sends them event
// by event.

#include "passes/Collectives/ChunkTimes.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>
#include <vector>

using namespace tp;

namespace {

ChunkProblem makeProblem(int64_t places, double product, double start,
                         double transfer, double slack = 0, double sum = 0) {
  ChunkProblem problem;
  problem.places = places;
  problem.product = problem.piece = product;
  problem.start = start;
  problem.transfer = transfer;
  problem.slack = slack;
  problem.sum = sum;
  return problem;
}

/// With products that take as long in pieces as in one.
ChunkProblem inPieces(ChunkProblem problem, int64_t pieces) {
  problem.pieces = pieces;
  problem.piece = problem.product / double(pieces);
  return problem;
}

/// When each of the products that wait for `arrivals` ends, behind `first`.
double multiplyAsTheyCome(const std::vector<double> &arrivals, double first,
                          double each) {
  double now = first;
  for (double arrival : arrivals)
    now = std::max(now, arrival) + each;
  return now;
}

TEST(ChunkTimes, ExampleOfTheHeader) {
  ChunkProblem problem = makeProblem(2, 2, 0, 3);
  EXPECT_DOUBLE_EQ(getGatherTime(inPieces(problem, 1)), 5);
  EXPECT_DOUBLE_EQ(getScatterTime(inPieces(problem, 1)), 5);
}

TEST(ChunkTimes, PiecesComeSooner) {
  // Half of the block is there after 1.5, and multiplied by the time that the
  // rest is.
  ChunkProblem problem = makeProblem(2, 2, 0, 3);
  EXPECT_DOUBLE_EQ(getGatherTime(inPieces(problem, 2)), 4);
  // The first half leaves after 1.
  EXPECT_DOUBLE_EQ(getScatterTime(inPieces(problem, 2)), 4);
  // Each has a start of its own.
  problem.start = 1;
  EXPECT_DOUBLE_EQ(getGatherTime(inPieces(problem, 1)), 6);
  EXPECT_DOUBLE_EQ(getGatherTime(inPieces(problem, 4)), 7.5);
}

TEST(ChunkTimes, PiecesMayTakeLonger) {
  // A quarter of the rows, and all of the other factor.
  ChunkProblem problem = makeProblem(2, 2, 0, 3);
  problem.pieces = 4;
  problem.piece = 1.5;
  EXPECT_DOUBLE_EQ(getGatherTime(problem), 2 + 4 * 1.5);
  EXPECT_DOUBLE_EQ(getScatterTime(problem), 4 * 1.5 + 2);
}

TEST(ChunkTimes, SlackHidesWhatTravels) {
  ChunkProblem problem = makeProblem(4, 1, 1, 5, /*slack=*/100, /*sum=*/2);
  EXPECT_DOUBLE_EQ(getGatherTime(inPieces(problem, 1)), 4);
  EXPECT_DOUBLE_EQ(getScatterTime(inPieces(problem, 1)), 6);
}

TEST(ChunkTimes, OneDeviceOnlyMultiplies) {
  ChunkProblem problem = makeProblem(1, 3, 1, 5);
  EXPECT_DOUBLE_EQ(getGatherTime(inPieces(problem, 1)), 3);
  EXPECT_DOUBLE_EQ(getScatterTime(inPieces(problem, 1)), 3);
}

/// Events one by one, and the bounds that no order can break: all products, and
/// all transfers with the first or the last product beside.
TEST(ChunkTimes, RandomProblems) {
  std::mt19937 random(7);
  auto draw = [&](double most) {
    return std::uniform_real_distribution<double>(0, most)(random);
  };
  for (int i = 0; i < 20000; ++i) {
    int64_t places = 1 + random() % 8, pieces = 1 << random() % 3;
    ChunkProblem problem =
        makeProblem(places, draw(3), draw(1), draw(3), draw(4), draw(1));
    int64_t count = (places - 1) * pieces;
    double each = problem.product / double(pieces);
    double piece = problem.start + problem.transfer / double(pieces);
    std::vector<double> arrivals;
    for (int64_t k = 1; k <= count; ++k)
      arrivals.push_back(double(k) * piece - problem.slack);
    double gather = getGatherTime(inPieces(problem, pieces));
    EXPECT_NEAR(gather, multiplyAsTheyCome(arrivals, problem.product, each),
                1e-9);
    double products = problem.product * double(places);
    double travels = double(count) * piece;
    EXPECT_GE(gather, products - 1e-9);
    if (count > 0)
      EXPECT_GE(gather, travels - problem.slack + each - 1e-9);

    // A scatter is a gather backwards in time, with the slack behind it.
    ChunkProblem backwards = problem;
    backwards.slack = 0;
    double link = 0;
    for (int64_t k = 1; k <= count; ++k)
      link = std::max(link, double(k) * each) + piece;
    double scatter = getScatterTime(inPieces(problem, pieces));
    EXPECT_NEAR(scatter, std::max(products, link - problem.slack) + problem.sum,
                1e-9);
    EXPECT_NEAR(getScatterTime(inPieces(backwards, pieces)) - problem.sum,
                getGatherTime(inPieces(backwards, pieces)), 1e-9);
  }
}

} // namespace
