// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Peaks against a sum at every point, padding against every device.

#include "lib/Cost/Memory.h"

#include "gtest/gtest.h"

#include <random>

using namespace tp;
using namespace tp::cost;

namespace {

TEST(PeakTest, Empty) {
  Peak peak = getPeak({});
  EXPECT_EQ(peak.bytes, 0);
  EXPECT_EQ(peak.padding, 0);
}

TEST(PeakTest, BothEndsCount) {
  // a of 4 bytes in points 0 and 1, b of 8 in 1 and 2, c of 2 in 2 and 3.
  Peak peak = getPeak({{4, 1, 0, 1}, {8, 2, 1, 2}, {2, 0, 2, 3}});
  EXPECT_EQ(peak.bytes, 12);
  EXPECT_EQ(peak.padding, 3);
  EXPECT_EQ(peak.point, 1u);
}

TEST(PeakTest, TheFirstOfEqualPeaks) {
  EXPECT_EQ(getPeak({{4, 0, 2, 2}, {4, 0, 5, 5}}).point, 2u);
}

TEST(PeakTest, AgainstTheSumAtEveryPoint) {
  std::mt19937 random(1);
  for (unsigned round = 0; round < 500; ++round) {
    constexpr unsigned kPoints = 12;
    std::vector<Lifetime> lifetimes(random() % 10);
    for (Lifetime &lifetime : lifetimes) {
      unsigned a = random() % kPoints, b = random() % kPoints;
      lifetime = {int64_t(random() % 5), int64_t(random() % 3), std::min(a, b),
                  std::max(a, b)};
    }
    Peak expected;
    for (unsigned point = 0; point < kPoints; ++point) {
      int64_t bytes = 0, padding = 0;
      for (const Lifetime &lifetime : lifetimes)
        if (lifetime.begin <= point && point <= lifetime.end) {
          bytes += lifetime.bytes;
          padding += lifetime.padding;
        }
      if (bytes > expected.bytes)
        expected = {bytes, padding, point};
    }
    Peak peak = getPeak(lifetimes);
    EXPECT_EQ(peak.bytes, expected.bytes);
    EXPECT_EQ(peak.padding, expected.padding);
    EXPECT_EQ(peak.point, expected.point);
  }
}

TEST(PaddingTest, AgainstEveryDevice) {
  // All sizes on all ways to cut two dimensions over two axes.
  Mesh mesh;
  mesh.axes = {{"x", 3, {}}, {"y", 4, {}}};
  std::vector<AxisList> lists = {
      {},
      {AxisRef::full(mesh, 0)},
      {AxisRef::full(mesh, 1)},
      {AxisRef{1, 1, 2}},
      {AxisRef{1, 2, 2}},
      {AxisRef::full(mesh, 1), AxisRef::full(mesh, 0)}};
  unsigned cases = 0;
  for (const AxisList &rows : lists)
    for (const AxisList &columns : lists) {
      if (overlap(rows, columns))
        continue;
      TensorSharding sharding = TensorSharding::replicate(2);
      sharding.dims[0].axes = rows;
      sharding.dims[1].axes = columns;
      for (int64_t n = 0; n <= 13; ++n)
        for (int64_t m = 0; m <= 13; ++m) {
          BlockLayout row{n, getSize(rows)}, column{m, getSize(columns)};
          int64_t least = n * m;
          for (int64_t device = 0; device < mesh.getNumDevices(); ++device)
            least = std::min(
                least, row.valid(getPosition(mesh, rows, device)) *
                           column.valid(getPosition(mesh, columns, device)));
          int64_t buffer = row.block() * column.block();
          EXPECT_EQ(getBufferElements(sharding, {n, m}), buffer);
          EXPECT_EQ(getPaddingElements(sharding, {n, m}), buffer - least);
          ++cases;
        }
    }
  EXPECT_GT(cases, 2000u);
}

} // namespace
