// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Plan/StepEstimate.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace tp::plan;

namespace {

/// A transfer for addGather or addSum.
struct Pieces {
  double begin, end, seconds;
};

double getTime(double computing, const std::vector<Pieces> &gathers,
               const std::vector<Pieces> &sums) {
  StepEstimate step(computing);
  for (const Pieces &gather : gathers)
    step.addGather(gather.begin, gather.end, gather.seconds);
  for (const Pieces &sum : sums)
    step.addSum(sum.begin, sum.end, sum.seconds);
  return step.get();
}

TEST(StepEstimateTest, OfNothingToSendIsComputing) {
  EXPECT_EQ(getTime(0, {}, {}), 0);
  EXPECT_EQ(getTime(10, {}, {}), 10);
}

TEST(StepEstimateTest, DeviceWaitsForGathersAndEndsWithSums) {
  EXPECT_EQ(getTime(10, {{0, 0, 4}, {3, 3, 4}}, {{8, 8, 5}}), 18);
  // What is needed first goes first, whatever the order of the list.
  EXPECT_EQ(getTime(10, {{3, 3, 4}, {0, 0, 4}}, {{8, 8, 5}}), 18);
}

TEST(StepEstimateTest, GathersHideBehindWhatComesBefore) {
  EXPECT_EQ(getTime(10, {{6, 6, 4}}, {}), 10);
  EXPECT_EQ(getTime(10, {{3, 3, 4}}, {}), 11);
}

TEST(StepEstimateTest, SumsHideBehindWhatComesAfter) {
  EXPECT_EQ(getTime(10, {}, {{6, 6, 4}}), 10);
  EXPECT_EQ(getTime(10, {}, {{7, 7, 4}}), 11);
  // The first holds up the second.
  EXPECT_EQ(getTime(10, {}, {{4, 4, 4}, {6, 6, 4}}), 12);
}

TEST(StepEstimateTest, ALoopNeedsAndMakesItsLayersOneByOne) {
  // The device waits only for the first of eight pieces.
  EXPECT_EQ(getTime(8, {{0, 8, 4}}, {}), 8.5);
  // Only the last of eight pieces is sent after the loop.
  EXPECT_EQ(getTime(8, {}, {{0, 8, 4}}), 8.5);
  // With a slow link, the device waits for every piece. After the last one has
  // arrived, there is 1 s to compute.
  EXPECT_EQ(getTime(8, {{0, 8, 16}}, {}), 17);
}

TEST(StepEstimateTest, OtherTransfersHideBehindWhatIsBetween) {
  auto getTime = [](double need) {
    StepEstimate step(10);
    step.addTransfer(/*ready=*/3, need, /*seconds=*/2);
    return step.get();
  };
  EXPECT_EQ(getTime(/*need=*/3), 12); // nothing is between
  EXPECT_EQ(getTime(/*need=*/4), 11);
  EXPECT_EQ(getTime(/*need=*/5), 10);
}

TEST(StepEstimateTest, WhatIsOnItsWayIsNotInterrupted) {
  StepEstimate step(10);
  step.addTransfer(/*ready=*/1, /*need=*/10, /*seconds=*/4);
  // Ready when the link is busy until 5; then it goes ahead of the third one.
  step.addTransfer(/*ready=*/2, /*need=*/3, /*seconds=*/1);
  step.addTransfer(/*ready=*/2, /*need=*/10, /*seconds=*/4);
  EXPECT_EQ(step.get(), 13); // computes 3 s, waits 3 s, computes 7 s
}

TEST(StepEstimateTest, WhatIsReadyTooLateIsNeededThen) {
  StepEstimate step(10);
  step.addTransfer(/*ready=*/6, /*need=*/5, /*seconds=*/2);
  EXPECT_EQ(step.get(), 12);
}

/// An upper bound on the rounding errors of sums of some ten numbers.
constexpr double kRounding = 1e-9;

TEST(StepEstimateTest, IsBetweenItsBounds) {
  std::mt19937 random(1);
  auto draw = [&](double most) {
    return std::uniform_real_distribution<double>(0, most)(random);
  };
  for (int round = 0; round < 1000; ++round) {
    std::vector<Pieces> gathers, sums;
    double computing = 100, sending = 0, chain = computing;
    for (int i = 0; i < 5; ++i)
      for (std::vector<Pieces> *list : {&gathers, &sums}) {
        double begin = draw(computing), end = begin;
        if (random() % 2)
          end += draw(computing - begin);
        double seconds = draw(30);
        list->push_back({begin, end, seconds});
        sending += seconds;
        if (begin == end)
          chain = std::max(
              chain, seconds + (list == &gathers ? computing - begin : end));
      }
    double time = getTime(computing, gathers, sums);
    EXPECT_GE(time, std::max(sending, chain) - kRounding);
    EXPECT_LE(time, computing + sending + kRounding);
    // More computation before the end hides more, and never less.
    for (Pieces &sum : sums)
      sum.begin = sum.end = 0;
    EXPECT_LE(getTime(computing, gathers, sums), time + kRounding);
  }
}

/// A transfer whose times are whole seconds.
struct Whole {
  int ready, need, seconds;
  int left = -1; ///< -1: has not started.
};

/// Goes through a step second by second.
int simulate(int computing, std::vector<Whole> transfers) {
  int clock = 0;
  Whole *carried = nullptr;
  for (int time = 0;; ++time) {
    if (!carried) {
      for (Whole &transfer : transfers)
        if (transfer.left < 0 && transfer.ready <= clock &&
            (!carried || transfer.need < carried->need))
          carried = &transfer;
      if (carried)
        carried->left = carried->seconds;
    }
    bool passes = std::all_of(
        transfers.begin(), transfers.end(), [&](const Whole &transfer) {
          return transfer.need > clock || transfer.left == 0;
        });
    if (passes && clock == computing)
      return time;
    clock += passes;
    if (carried && --carried->left == 0)
      carried = nullptr;
  }
}

TEST(StepEstimateTest, IsAsASimulationSecondBySecond) {
  std::mt19937 random(2);
  auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int round = 0; round < 5000; ++round) {
    int computing = draw(0, 30);
    std::vector<Whole> transfers(draw(0, 8));
    StepEstimate step(computing);
    for (Whole &transfer : transfers) {
      transfer.ready = draw(0, computing);
      transfer.need = draw(transfer.ready, computing);
      transfer.seconds = draw(1, 9);
      step.addTransfer(transfer.ready, transfer.need, transfer.seconds);
    }
    EXPECT_EQ(step.get(), simulate(computing, transfers));
  }
}

} // namespace
