// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Shapes.h"
#include "runtime/Core/DType.h"
#include "runtime/Core/StridedCopy.h"

#include "gtest/gtest.h"

#include <cmath>
#include <numeric>

using namespace tprt;

namespace {

TEST(Shapes, CountsWithoutOverflow) {
  EXPECT_EQ(getNumElements({}), 1);
  EXPECT_EQ(getNumElements({3, 0, 5}), 0);
  EXPECT_EQ(getNumElements({int64_t{1} << 40, int64_t{1} << 40}),
            absl::nullopt);
  EXPECT_EQ(getNumElements({-1}), absl::nullopt);
  EXPECT_EQ(getExtent({2, 3}, {10, 1}), 13);
  EXPECT_EQ(getExtent({2, 0}, {10, 1}), 0);
  EXPECT_EQ(getExtent({2}, {-1}), absl::nullopt);
  EXPECT_EQ(getExtent({3, 3}, {INT64_MAX / 2, INT64_MAX / 2}), absl::nullopt);
}

TEST(Shapes, KnowsWhatOverlaps) {
  EXPECT_TRUE(isWithoutOverlap({}, {}));
  EXPECT_TRUE(isWithoutOverlap({2, 3, 4}, {4, 8, 1}));
  EXPECT_TRUE(isWithoutOverlap({3, 2}, {5, 2}));
  EXPECT_TRUE(isWithoutOverlap({1, 3}, {0, 1}));
  EXPECT_TRUE(isWithoutOverlap({2, 0}, {0, 1}));
  EXPECT_FALSE(isWithoutOverlap({2, 3}, {0, 1}));
  EXPECT_FALSE(isWithoutOverlap({2, 3}, {1, 1}));
  EXPECT_FALSE(isWithoutOverlap({2, 3}, {2, 1}));
  EXPECT_FALSE(isWithoutOverlap({3, 3}, {INT64_MAX / 2, INT64_MAX / 4}));
}

TEST(Shapes, FactorsReshapes) {
  auto factors = factorReshape({6, 4}, {2, 12});
  ASSERT_TRUE(factors);
  ASSERT_EQ(factors->size(), 3u);
  EXPECT_EQ((*factors)[0].size, 2);
  EXPECT_EQ((*factors)[1].size, 3);
  EXPECT_EQ((*factors)[1].from, 0u);
  EXPECT_EQ((*factors)[1].to, 1u);
  EXPECT_EQ((*factors)[2].size, 4);
  EXPECT_EQ((*factors)[2].from, 1u);
  EXPECT_TRUE(factorReshape({1, 5, 1}, {5}));
  EXPECT_FALSE(factorReshape({4, 6}, {6, 4}));
  EXPECT_FALSE(factorReshape({4}, {5}));
  EXPECT_FALSE(factorReshape({0}, {0}));
}

/// Every interval of 3 x 2 x 4, element by element and in order.
TEST(Shapes, SplitsEveryInterval) {
  std::vector<int64_t> sizes = {3, 2, 4};
  for (int64_t begin = 0; begin <= 24; ++begin)
    for (int64_t end = begin; end <= 24; ++end) {
      int64_t next = begin;
      for (const Box &box : splitInterval(begin, end, sizes))
        for (int64_t i = 0; i < box.size[0]; ++i)
          for (int64_t j = 0; j < box.size[1]; ++j)
            for (int64_t k = 0; k < box.size[2]; ++k)
              EXPECT_EQ((box.start[0] + i) * 8 + (box.start[1] + j) * 4 +
                            box.start[2] + k,
                        next++);
      EXPECT_EQ(next, end) << begin;
      EXPECT_LE(splitInterval(begin, end, sizes).size(), 5u);
    }
}

TEST(DTypes, NarrowFloatsRoundTripAndRoundToEven) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    Float16 half;
    half.bits = static_cast<uint16_t>(bits);
    BFloat16 brain;
    brain.bits = static_cast<uint16_t>(bits);
    if (!std::isnan(float(half)))
      EXPECT_EQ(Float16(float(half)).bits, bits);
    if (!std::isnan(float(brain)))
      EXPECT_EQ(BFloat16(float(brain)).bits, bits);
  }
  EXPECT_EQ(float(BFloat16(1.0f + 0x1p-8f)), 1.0f);
  EXPECT_EQ(float(BFloat16(1.0f + 0x3p-8f)), 1.0f + 0x1p-6f);
  EXPECT_EQ(float(Float16(1.0f + 0x1p-11f)), 1.0f);
  EXPECT_EQ(float(Float16(65504.0f)), 65504.0f);
  EXPECT_TRUE(std::isinf(float(Float16(65520.0f))));
  EXPECT_EQ(float(Float16(0x1p-24f)), 0x1p-24f);
  EXPECT_EQ(float(Float16(0x1p-26f)), 0.0f);
  EXPECT_TRUE(std::isnan(float(Float16(NAN))));
  EXPECT_TRUE(std::isnan(float(BFloat16(NAN))));
}

/// All permutations of 5 x 40 x 3 (one tile and a bit), all element sizes.
TEST(StridedCopy, Transposes) {
  std::vector<int64_t> shape = {5, 40, 3};
  std::vector<int64_t> order = {0, 1, 2};
  std::vector<int64_t> strides = getStrides(shape);
  do {
    std::vector<int64_t> permuted, from;
    for (int64_t i : order) {
      permuted.push_back(shape[i]);
      from.push_back(strides[i]);
    }
    std::vector<int64_t> to = getStrides(permuted);
    std::vector<float> source(600);
    std::iota(source.begin(), source.end(), 1.0f);
    std::vector<float> result(600);
    copyStrided(DType::F32, reinterpret_cast<char *>(result.data()), to,
                DType::F32, reinterpret_cast<const char *>(source.data()), from,
                permuted);
    std::vector<BFloat16> narrow(600);
    copyStrided(DType::BF16, reinterpret_cast<char *>(narrow.data()), to,
                DType::F32, reinterpret_cast<const char *>(source.data()), from,
                permuted);
    for (int64_t i = 0; i < permuted[0]; ++i)
      for (int64_t j = 0; j < permuted[1]; ++j)
        for (int64_t k = 0; k < permuted[2]; ++k) {
          float wanted = source[i * from[0] + j * from[1] + k * from[2]];
          int64_t at = i * to[0] + j * to[1] + k;
          EXPECT_EQ(result[at], wanted);
          EXPECT_EQ(float(narrow[at]), float(BFloat16(wanted)));
        }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(StridedCopy, LeavesGapsAloneAndBroadcasts) {
  std::vector<uint8_t> to(12, 9), from = {1, 2, 3};
  copyStrided(DType::U8, reinterpret_cast<char *>(to.data()), {4, 1}, DType::U8,
              reinterpret_cast<const char *>(from.data()), {0, 1}, {3, 3});
  EXPECT_EQ(to, (std::vector<uint8_t>{1, 2, 3, 9, 1, 2, 3, 9, 1, 2, 3, 9}));
  fillStrided(DType::U8, reinterpret_cast<char *>(to.data()), {4}, {3}, 7);
  EXPECT_EQ(to, (std::vector<uint8_t>{7, 2, 3, 9, 7, 2, 3, 9, 7, 2, 3, 9}));
  fillStrided(DType::U8, reinterpret_cast<char *>(to.data()), {4, 1}, {3, 0},
              5);
  EXPECT_EQ(to[0], 7);
}

} // namespace
