// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/RangeIndex.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>
#include <vector>

using namespace tprt;

namespace {

/// Against all bytes, one by one.
TEST(RangeIndex, FindsWhatOverlaps) {
  std::mt19937 random(1);
  struct Range {
    uint32_t index;
    int64_t begin, end;
  };
  auto draw = [&] {
    int64_t begin = random() % 1000;
    int64_t length = 1 + random() % (random() % 4 ? 10 : 500);
    return Range{uint32_t(random() % 2), begin, begin + length};
  };
  RangeIndex index;
  std::vector<Range> ranges;
  for (uint32_t round = 0; round < 2000; ++round) {
    if (ranges.size() > 40) { // take out what came first
      const Range &old = ranges[ranges.size() - 41];
      index.erase({Space::Input, old.index}, old.begin, old.end,
                  ranges.size() - 41);
    }
    Range query = draw();
    std::vector<uint32_t> found, expected;
    index.find(
        {Space::Input, query.index}, query.begin, query.end, [&](uint32_t id) {
          if (ranges[id].begin < query.end && query.begin < ranges[id].end)
            found.push_back(id);
          return false;
        });
    for (size_t i = ranges.size() < 41 ? 0 : ranges.size() - 40;
         i < ranges.size(); ++i)
      if (ranges[i].index == query.index && ranges[i].begin < query.end &&
          query.begin < ranges[i].end)
        expected.push_back(i);
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, expected) << round;
    ranges.push_back(draw());
    const Range &added = ranges.back();
    index.insert({Space::Input, added.index}, added.begin, added.end,
                 ranges.size() - 1);
  }
}

/// Against all bytes, one by one: strides that nest, and any.
TEST(StridedBytes, ReachWhatTheyTouch) {
  std::mt19937 random(1);
  int hits = 0, misses = 0;
  for (int round = 0; round < 20000; ++round) {
    int64_t element = int64_t{1} << random() % 4;
    bool nests = random() % 2;
    StridedBytes bytes(element);
    std::vector<int64_t> places = {0};
    int64_t extent = element;
    for (int dim = random() % 4; dim > 0; --dim) {
      int64_t size = random() % 20 == 0 ? 0 : 1 + random() % 4;
      int64_t stride =
          nests ? extent + element * (random() % 4) : element * (random() % 9);
      extent += stride * std::max<int64_t>(size - 1, 0);
      if (random() % 4 == 0)
        stride = -stride;
      bytes.add(size, stride);
      std::vector<int64_t> moved;
      for (int64_t place : places)
        for (int64_t i = 0; i < size; ++i)
          moved.push_back(place + i * stride);
      places = moved;
    }
    int64_t offset = int64_t(random() % 200) - 100, length = random() % 40;
    bytes.move(offset);
    bool touches = false;
    for (int64_t place : places)
      touches |=
          length > 0 && place + offset < length && place + offset + element > 0;
    ASSERT_EQ(bytes.reach(length), touches) << round;
    hits += touches;
    misses += !touches;
  }
  EXPECT_GT(hits, 4000);
  EXPECT_GT(misses, 4000);
}

} // namespace
