// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The order in which training goes through a data set.

#include "SampleOrder.h"

#include "gtest/gtest.h"

#include <vector>

using tprun::SampleOrder;

/// The samples of an epoch.
static std::vector<uint64_t> getEpoch(uint64_t samples, uint64_t seed,
                                      uint64_t epoch) {
  SampleOrder order(samples, seed);
  std::vector<uint64_t> list;
  for (uint64_t i = 0; i < samples; ++i)
    list.push_back(order.getSample(epoch * samples + i));
  return list;
}

TEST(SampleOrderTest, HasEverySampleOnceAnEpoch) {
  std::vector<uint64_t> counts = {1023, 1024, 1025, 4097, 65537, 100003};
  for (uint64_t samples = 1; samples <= 260; ++samples)
    counts.push_back(samples);
  for (uint64_t samples : counts)
    for (uint64_t epoch : {0, 1, 2, 1000000}) {
      std::vector<int> seen(samples);
      for (uint64_t sample : getEpoch(samples, 7, epoch)) {
        ASSERT_LT(sample, samples);
        ASSERT_EQ(seen[sample]++, 0) << sample << " of " << samples;
      }
    }
}

TEST(SampleOrderTest, DiffersBetweenEpochsAndSeeds) {
  for (uint64_t samples : {20, 1000, 1024}) {
    EXPECT_NE(getEpoch(samples, 1, 0), getEpoch(samples, 1, 1));
    EXPECT_NE(getEpoch(samples, 1, 0), getEpoch(samples, 2, 0));
    EXPECT_EQ(getEpoch(samples, 1, 3), getEpoch(samples, 1, 3));
  }
}

TEST(SampleOrderTest, TakesPlacesOfLargeDataSets) {
  SampleOrder order(uint64_t{1} << 62, 1);
  for (uint64_t place : {uint64_t{0}, uint64_t{1} << 40, uint64_t{1} << 63})
    EXPECT_LT(order.getSample(place), uint64_t{1} << 62);
}

/// How far the share of places is from even, summed over places and samples as
/// chi squared does, over its degrees of freedom.
TEST(SampleOrderTest, PutsEverySampleEverywhere) {
  for (uint64_t samples : {5, 16, 37}) {
    constexpr uint64_t epochs = 20000;
    std::vector<uint64_t> hits(samples * samples);
    SampleOrder order(samples, 3);
    for (uint64_t place = 0; place < samples * epochs; ++place)
      ++hits[place % samples * samples + order.getSample(place)];
    double wanted = static_cast<double>(epochs) / static_cast<double>(samples);
    double sum = 0;
    for (uint64_t hit : hits) {
      double off = static_cast<double>(hit) - wanted;
      sum += off * off / wanted;
    }
    double freedom = static_cast<double>((samples - 1) * (samples - 1));
    EXPECT_LT(sum / freedom, 3) << samples;
  }
}
