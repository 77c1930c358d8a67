// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CPU/NarrowWeights.h"

#include "runtime/CPU/SkinnyKernels.h"
#include "runtime/Core/DType.h"

#include "gtest/gtest.h"

#include <random>

using namespace tprt;

namespace {

/// A constant f32 weight of [k, n], whose rows are `rowStride` apart.
MatmulRow makeRow(int64_t k, int64_t n, int64_t rowStride) {
  MatmulRow row = {};
  row.batch[0] = row.batch[1] = row.batch[2] = 1;
  row.m = 1, row.n = n, row.k = k;
  row.b.dtype = DType::F32;
  row.b.strides[kMaxBatch] = rowStride;
  row.b.strides[kMaxBatch + 1] = 1;
  row.constantB = 1;
  return row;
}

std::vector<float> makeNarrowNumbers(int64_t count) {
  std::mt19937 random(5);
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = bitsToFloat(static_cast<uint32_t>(random()) << 16);
  return numbers;
}

const char *bytesOf(const std::vector<float> &numbers) {
  return reinterpret_cast<const char *>(numbers.data());
}

struct NarrowWeightsTest : testing::Test {
  Team team{3, /*hasCores=*/true};
  NarrowWeights weights{team, kSkinnyKernels};

  /// Whether the weight has a copy at its second use.
  bool isCopied(const MatmulRow &row, const std::vector<float> &numbers) {
    EXPECT_EQ(weights.find(row, bytesOf(numbers)), nullptr);
    return weights.find(row, bytesOf(numbers)) != nullptr;
  }
};

/// All bf16 numbers, NaNs and denormals among them, in a weight of several
/// chunks for each thread.
TEST_F(NarrowWeightsTest, ACopyHasTheSameNumbers) {
  int64_t k = 101, n = 1009;
  std::vector<float> numbers = makeNarrowNumbers(k * n);
  for (uint32_t i = 0; i < 1 << 16; ++i)
    numbers[i] = bitsToFloat(i << 16);
  MatmulRow row = makeRow(k, n, n);
  ASSERT_TRUE(isCopied(row, numbers));
  const auto *copy =
      reinterpret_cast<const uint16_t *>(weights.find(row, bytesOf(numbers)));
  for (int64_t i = 0; i < k * n; ++i)
    ASSERT_EQ(uint32_t{copy[i]} << 16, floatToBits(numbers[i])) << i;
  EXPECT_EQ(weights.getBytes(), static_cast<uint64_t>(2 * k * n));
}

/// One wide number anywhere, and by one bit.
TEST_F(NarrowWeightsTest, AWideWeightHasNone) {
  int64_t k = 67, n = 1021;
  MatmulRow row = makeRow(k, n, n);
  for (int64_t at :
       {int64_t{0}, int64_t{1023}, int64_t{1024}, k * n / 3, k * n - 1})
    for (uint32_t bit : {1u, 0x8000u}) {
      std::vector<float> numbers = makeNarrowNumbers(k * n);
      numbers[at] = bitsToFloat(floatToBits(numbers[at]) | bit);
      weights.forget();
      EXPECT_FALSE(isCopied(row, numbers)) << at;
      EXPECT_EQ(weights.find(row, bytesOf(numbers)), nullptr);
      EXPECT_EQ(weights.getBytes(), 0u);
    }
}

TEST_F(NarrowWeightsTest, OnlyDenseConstantWeightsInF32) {
  std::vector<float> numbers = makeNarrowNumbers(64);
  MatmulRow row = makeRow(4, 8, 8);
  row.constantB = 0;
  EXPECT_FALSE(isCopied(row, numbers));
  row = makeRow(4, 8, 8);
  row.b.dtype = DType::BF16;
  EXPECT_FALSE(isCopied(row, numbers));
  EXPECT_FALSE(isCopied(makeRow(4, 8, 9), numbers));
  // Batches that share the weight, and those that have each its own.
  row = makeRow(4, 8, 8);
  row.batch[1] = 3;
  EXPECT_TRUE(isCopied(row, numbers));
  row.batch[1] = 2;
  row.b.strides[1] = 32;
  EXPECT_TRUE(isCopied(row, numbers));
  EXPECT_EQ(weights.getBytes(), 2u * (32 + 64));
  row.b.strides[1] = 33;
  EXPECT_FALSE(isCopied(row, numbers));
}

TEST_F(NarrowWeightsTest, WeightsThatChangeAreReadAgain) {
  std::vector<float> numbers = makeNarrowNumbers(32);
  MatmulRow row = makeRow(4, 8, 8);
  ASSERT_TRUE(isCopied(row, numbers));
  weights.forget();
  EXPECT_EQ(weights.getBytes(), 0u);
  numbers[7] = 0.1f;
  EXPECT_FALSE(isCopied(row, numbers));
  weights.forget();
  numbers[7] = 3;
  ASSERT_TRUE(isCopied(row, numbers));
  const char *copy = weights.find(row, bytesOf(numbers));
  EXPECT_EQ(reinterpret_cast<const uint16_t *>(copy)[7], floatToBits(3) >> 16);
}

} // namespace
