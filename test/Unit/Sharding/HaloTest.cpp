// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Sharding/Algebra/Halo.h"

#include "gtest/gtest.h"

using namespace tp;

namespace {

/// The rows a device finds in its strip, by their numbers in the tensor: -1 for
/// rows that mean nothing, and for what lies past the tensor's end.
std::vector<int64_t> getStrip(const Window &window, BlockLayout from,
                              int64_t place) {
  std::vector<int64_t> strip(window.lead, -1);
  for (size_t i = 0; i < window.rows.size(); ++i) {
    const BlockRows &rows = window.rows[i];
    bool isFirst = i == 0, isLast = i + 1 == window.rows.size();
    int64_t sender = from.k == 1 ? 0 : place + window.lowest + int64_t(i);
    int64_t begin = isFirst ? rows.begin : 0;
    int64_t end = isLast ? rows.end : from.block();
    for (int64_t row = begin; row < end; ++row) {
      int64_t number = sender * from.block() + row;
      bool isThere = row >= rows.begin && row < rows.end && sender >= 0 &&
                     sender < from.k && number < from.n;
      strip.push_back(isThere ? number : -1);
    }
  }
  strip.resize(strip.size() + window.tail, -1);
  return strip;
}

// In every window between blocks of all sizes up to 9 on up to 4 devices, every
// device finds its rows where offset and step say.
TEST(Halo, DevicesFindTheirRows) {
  unsigned checked = 0;
  for (int64_t k = 1; k <= 4; ++k)
    for (int64_t n = 1; n <= 9; ++n)
      for (int64_t m = 1; m <= 9; ++m)
        for (int64_t start = 0; start < n; ++start)
          for (int64_t at = 0; at < m; ++at)
            for (int64_t size = 1; size <= std::min(n - start, m - at); ++size)
              for (int64_t senders : {int64_t(1), k}) {
                BlockLayout from{n, senders}, to{m, k};
                std::optional<Window> window =
                    getWindow(from, to, {start, at, size}, 8);
                ASSERT_TRUE(window);
                for (int64_t place = 0; place < k; ++place) {
                  std::vector<int64_t> strip = getStrip(*window, from, place);
                  int64_t first = window->offset + place * window->step;
                  for (int64_t row = to.begin(place); row < to.begin(place + 1);
                       ++row) {
                    if (row < at || row >= at + size)
                      continue;
                    int64_t where = first + row - to.begin(place);
                    ASSERT_GE(first, 0);
                    ASSERT_LE(first + to.block(), int64_t(strip.size()));
                    ASSERT_EQ(strip[where], row - at + start)
                        << n << " rows to " << m << " on " << k << ", " << size
                        << " from " << start << " to " << at;
                    ++checked;
                  }
                }
              }
  EXPECT_GT(checked, 50000u);
}

// A shift by one sends one row to a neighbour, with equal blocks on both sides.
TEST(Halo, AShiftSendsWhatCrosses) {
  std::optional<Window> window = getWindow({16, 4}, {15, 4}, {1, 0, 15}, 8);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->lowest, 0);
  ASSERT_EQ(window->rows.size(), 2u);
  EXPECT_EQ(window->rows[0], (BlockRows{1, 4}));
  EXPECT_EQ(window->rows[1], (BlockRows{0, 1}));
  EXPECT_EQ(window->offset, 0);
  EXPECT_EQ(window->step, 0);
}

// Blocks that coincide send nothing: 10 rows padded to 12 on 4 devices.
TEST(Halo, BlocksThatCoincideSendNothing) {
  std::optional<Window> window = getWindow({10, 4}, {12, 4}, {0, 0, 10}, 8);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->lowest, 0);
  EXPECT_EQ(window->rows.size(), 1u);
}

// The first row of each of many devices, brought together, comes from too many.
TEST(Halo, TooManyDistancesAreNoWindow) {
  EXPECT_TRUE(getWindow({16, 16}, {8, 16}, {8, 0, 8}, 8));
  EXPECT_FALSE(getWindow({32, 16}, {16, 16}, {0, 0, 16}, 8));
}

} // namespace
