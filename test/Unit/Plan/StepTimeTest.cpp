// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Plan/StepTime.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace tp::plan;

namespace {

TEST(StepTimeTest, OfNothingToSendIsComputing) {
  EXPECT_EQ(getStepTime(0, {}, {}), 0);
  EXPECT_EQ(getStepTime(10, {}, {}), 10);
}

TEST(StepTimeTest, DeviceWaitsForGathersAndEndsWithSums) {
  EXPECT_EQ(getStepTime(10, {{0, 0, 4}, {3, 3, 4}}, {{8, 8, 5}}), 18);
  // What is needed first goes first, whatever the order of the list.
  EXPECT_EQ(getStepTime(10, {{3, 3, 4}, {0, 0, 4}}, {{8, 8, 5}}), 18);
}

TEST(StepTimeTest, GathersHideBehindWhatComesBefore) {
  EXPECT_EQ(getStepTime(10, {{6, 6, 4}}, {}), 10);
  EXPECT_EQ(getStepTime(10, {{3, 3, 4}}, {}), 11);
}

TEST(StepTimeTest, SumsHideBehindWhatComesAfter) {
  EXPECT_EQ(getStepTime(10, {}, {{6, 6, 4}}), 10);
  EXPECT_EQ(getStepTime(10, {}, {{7, 7, 4}}), 11);
  // The first holds up the second.
  EXPECT_EQ(getStepTime(10, {}, {{4, 4, 4}, {6, 6, 4}}), 12);
}

TEST(StepTimeTest, ALoopNeedsAndMakesItsLayersOneByOne) {
  // The device waits only for the first of eight pieces.
  EXPECT_EQ(getStepTime(8, {{0, 8, 4}}, {}), 8.5);
  // Only the last of eight pieces is sent after the loop.
  EXPECT_EQ(getStepTime(8, {}, {{0, 8, 4}}), 8.5);
  // With a slow link, the device waits for every piece. After the last one has
  // arrived, there is 1 s to compute.
  EXPECT_EQ(getStepTime(8, {{0, 8, 16}}, {}), 17);
}

/// An upper bound on the rounding errors of sums of some ten numbers.
constexpr double kRounding = 1e-9;

TEST(StepTimeTest, IsBetweenItsBounds) {
  std::mt19937 random(1);
  auto draw = [&](double most) {
    return std::uniform_real_distribution<double>(0, most)(random);
  };
  for (int round = 0; round < 1000; ++round) {
    std::vector<SlackTransfer> gathers, sums;
    double computing = 100, sending = 0, chain = computing;
    for (int i = 0; i < 5; ++i)
      for (std::vector<SlackTransfer> *list : {&gathers, &sums}) {
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
    double time = getStepTime(computing, gathers, sums);
    EXPECT_GE(time, std::max(sending, chain) - kRounding);
    EXPECT_LE(time, computing + sending + kRounding);
    // More computation before the end hides more, and never less.
    for (SlackTransfer &sum : sums)
      sum.begin = sum.end = 0;
    EXPECT_LE(getStepTime(computing, gathers, sums), time + kRounding);
  }
}

} // namespace
