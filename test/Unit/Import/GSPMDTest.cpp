// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// GSPMD's strings, the digits of devices' numbers, and the axes they make.

#include "passes/Import/StableHLO/GSPMD.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

using namespace tp::stablehlo;
using llvm::SmallVector;

namespace {

using Sizes = SmallVector<int64_t>;

/// Row-major numbers of `shape` with its dimensions in the order `permutation`.
Sizes permute(const Sizes &shape, const Sizes &permutation) {
  Sizes strides(shape.size(), 1), numbers;
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                  std::multiplies<int64_t>());
  for (int64_t position = 0; position < count; ++position) {
    int64_t rest = position, number = 0;
    for (size_t i = permutation.size(); i-- > 0;) {
      number += rest % shape[permutation[i]] * strides[permutation[i]];
      rest /= shape[permutation[i]];
    }
    numbers.push_back(number);
  }
  return numbers;
}

// Every permutation of up to four dimensions of sizes 1, 2, 3 and 4 has digits,
// and they give back the numbers.
TEST(GSPMD, FindsDigitsOfEveryPermutation) {
  unsigned cases = 0;
  for (unsigned code = 0; code < 4 * 4 * 4 * 4; ++code) {
    Sizes shape;
    for (unsigned i = 0, rest = code; i < 4; ++i, rest /= 4)
      shape.push_back(1 + rest % 4);
    Sizes order(4);
    std::iota(order.begin(), order.end(), 0);
    do {
      Sizes numbers = permute(shape, order), tiles;
      for (int64_t dim : order)
        tiles.push_back(shape[dim]);
      auto dims = findDigits(numbers, tiles);
      ASSERT_TRUE(dims);
      for (size_t offset = 0; offset < numbers.size(); ++offset) {
        int64_t rest = offset, sum = 0;
        for (size_t dim = dims->size(); dim-- > 0;)
          for (size_t i = (*dims)[dim].size(); i-- > 0;) {
            const Digit &digit = (*dims)[dim][i];
            sum += rest % digit.size * digit.stride;
            rest /= digit.size;
          }
        ASSERT_EQ(sum, numbers[offset]);
      }
      ++cases;
    } while (std::next_permutation(order.begin(), order.end()));
  }
  EXPECT_EQ(cases, 256u * 24);
}

// A merged dimension has several digits, major first.
TEST(GSPMD, SplitsMergedDimensions) {
  // [2, 4] transposed and read as one dimension of 8.
  Sizes numbers = permute({2, 4}, {1, 0});
  auto dims = findDigits(numbers, {8});
  ASSERT_TRUE(dims);
  EXPECT_EQ((*dims)[0], (SmallVector<Digit>{{4, 1}, {2, 4}}));
  EXPECT_FALSE(findDigits({0, 1, 3, 2}, {4}));
  EXPECT_FALSE(findDigits({0, 3, 1, 2}, {2, 2}));
  // No device has such a number.
  EXPECT_FALSE(findDigits({1, std::numeric_limits<int64_t>::max()}, {2}));
  EXPECT_FALSE(findDigits({-1, 0}, {2}));
}

// Axes are where digits begin and end.
TEST(GSPMD, FactorsAxes) {
  AxisFactors factors;
  factors.add({8, 1});
  factors.add({4, 2});
  factors.add({2, 4});
  EXPECT_EQ(factors.getSizes(), (Sizes{2, 2, 2}));
  factors.add({3, 1});
  EXPECT_FALSE(factors.getSizes());
}

TEST(GSPMD, ReadsStrings) {
  auto all =
      parseTileShardings("{devices=[4,1,2]<=[8] last_tile_dim_replicate}");
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 1u);
  const TileSharding &one = all->front();
  EXPECT_EQ(one.kind, TileSharding::Tiled);
  EXPECT_EQ(one.numDevices, 8);
  EXPECT_EQ(one.dims[0], (SmallVector<Digit>{{4, 2}}));
  EXPECT_TRUE(one.dims[1].empty());
  EXPECT_EQ(one.subgroups, (SmallVector<Subgroup>{Subgroup::Replicated}));
  auto list = parseTileShardings("{devices=[2,2]0,2,1,3}");
  auto iota = parseTileShardings("{devices=[2,2]<=[2,2]T(1,0)}");
  ASSERT_TRUE(list && iota);
  EXPECT_EQ(list->front().dims, iota->front().dims);
  auto tuple = parseTileShardings(
      "{{replicated}, {maximal device=3}, {manual metadata={op_name=\"x\"}},"
      " {unknown}, {devices=[2,1,2]<=[4] last_tile_dims={manual, "
      "replicated}}}");
  ASSERT_TRUE(tuple);
  ASSERT_EQ(tuple->size(), 5u);
  EXPECT_EQ((*tuple)[1].kind, TileSharding::Maximal);
  EXPECT_EQ((*tuple)[2].kind, TileSharding::Manual);
  EXPECT_EQ((*tuple)[3].kind, TileSharding::Unknown);
  EXPECT_EQ((*tuple)[4].subgroups.size(), 2u);
  auto counted =
      parseTileShardings("{{replicated}, /*index=1*/{devices=[2]<=[2]}, /*a*/ "
                         "/*b*/ {manual}} /**/");
  ASSERT_TRUE(counted);
  EXPECT_EQ(counted->size(), 3u);
}

// Whatever is cut off or changed, no text is read beyond its end or taken for
// more devices than there are.
TEST(GSPMD, RefusesOtherText) {
  for (const char *text : {"",
                           "{",
                           "}",
                           "{}",
                           "{devices}",
                           "{devices=[2]}",
                           "{devices=[2]0}",
                           "{devices=[2]0,1,2}",
                           "{devices=[0]<=[0]}",
                           "{devices=[2]<=[3]}",
                           "{devices=[2]<=[2]T(1)}",
                           "{devices=[2,2]<=[2,2]T(0,0)}",
                           "{devices=[-2]<=[2]}",
                           "{devices=[99999999999999999999]<=[2]}",
                           "{devices=[1048577]<=[1048577]}",
                           "{replicated} x",
                           "{replicated} /*",
                           "/{replicated}",
                           "{{replicated}",
                           "{devices=[2]1,0}",
                           "{devices=[2]<=[2] last_tile_dims={odd}}",
                           "{devices=[2]<=[2] last_tile_dims={manual,manual}}",
                           "{metadata={"})
    EXPECT_FALSE(parseTileShardings(text)) << text;
  std::string whole =
      "{{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dims={manual}}, {replicated}}";
  ASSERT_TRUE(parseTileShardings(whole));
  for (size_t end = 0; end < whole.size(); ++end)
    EXPECT_FALSE(parseTileShardings(whole.substr(0, end)));
}

} // namespace
