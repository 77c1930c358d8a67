// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The arithmetic of tp-run: comparing tensors and drawing tokens.

#include "Numbers.h"
#include "Compare.h"
#include "Sampling.h"
#include "runtime/Core/Hash.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace tprt;
using namespace tprun;

namespace {

Difference compareAs(DType dtype, std::vector<double> got,
                     std::vector<double> wanted) {
  return compare(dtype, encode(dtype, got), encode(dtype, wanted));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Numbers, GoThroughBytesAndBack) {
  for (uint32_t type = 0; type < kNumDTypes; ++type) {
    auto dtype = static_cast<DType>(type);
    std::vector<double> values = {0, 1, 1, 0};
    EXPECT_EQ(decode(dtype, encode(dtype, values)), values) << getName(dtype);
  }
  for (DType dtype : {DType::I64, DType::I32, DType::I16, DType::I8, DType::F64,
                      DType::F32, DType::BF16, DType::F16})
    EXPECT_EQ(decode(dtype, encode(dtype, {-100.0})),
              std::vector<double>{-100.0})
        << getName(dtype);
}

TEST(Compare, MeasuresAgainstTheLargest) {
  Difference d = compareAs(DType::F32, {100, 0.5, -200}, {100, 0.25, -200});
  EXPECT_EQ(d.absolute, 0.25);
  EXPECT_EQ(d.relative, 0.25 / 200);
  EXPECT_EQ(d.place, 1);
  EXPECT_FALSE(d.isAllNaN);
}

TEST(Compare, FindsNothingWhereAllIsEqual) {
  for (uint32_t type = 0; type < kNumDTypes; ++type) {
    Difference d = compareAs(static_cast<DType>(type), {0, 1, 0}, {0, 1, 0});
    EXPECT_EQ(d.absolute, 0);
    EXPECT_EQ(d.relative, 0);
  }
  Difference empty = compareAs(DType::F32, {}, {});
  EXPECT_EQ(empty.relative, 0);
  EXPECT_FALSE(empty.isAllNaN);
}

TEST(Compare, TreatsWhatIsNoNumberAsAValueOfItsOwn) {
  EXPECT_EQ(compareAs(DType::F32, {kNaN, 1}, {kNaN, 1}).relative, 0);
  EXPECT_EQ(compareAs(DType::F32, {kNaN, 1}, {0, 1}).relative, kInfinity);
  EXPECT_EQ(compareAs(DType::F32, {0, 1}, {kNaN, 1}).relative, kInfinity);
  EXPECT_EQ(compareAs(DType::F32, {kInfinity}, {kInfinity}).relative, 0);
  EXPECT_EQ(compareAs(DType::F32, {kInfinity, 1}, {2, 1}).relative, kInfinity);
  EXPECT_EQ(compareAs(DType::F32, {1}, {-kInfinity}).relative, kInfinity);
  EXPECT_TRUE(compareAs(DType::F32, {kNaN, kNaN}, {kNaN, kNaN}).isAllNaN);
  EXPECT_FALSE(compareAs(DType::F32, {kNaN, 1}, {kNaN, 1}).isAllNaN);
  // Nothing to be relative to.
  EXPECT_EQ(compareAs(DType::F32, {1e-9}, {0}).relative, kInfinity);
}

TEST(Compare, SeesIntegersThatDoublesDoNot) {
  int64_t a = (int64_t{1} << 53) + 1, b = int64_t{1} << 53;
  Difference d = compare(DType::I64, {reinterpret_cast<char *>(&a), 8},
                         {reinterpret_cast<char *>(&b), 8});
  EXPECT_GT(d.relative, getTolerance(DType::I64));
}

TEST(Compare, AllowsAFewHundredRoundings) {
  EXPECT_EQ(getTolerance(DType::I32), 0);
  EXPECT_EQ(getTolerance(DType::Bool), 0);
  EXPECT_GT(getTolerance(DType::F64), 100 * 0x1p-53);
  EXPECT_GT(getTolerance(DType::F32), 100 * 0x1p-24);
  EXPECT_GT(getTolerance(DType::F16), 10 * 0x1p-11);
  EXPECT_GT(getTolerance(DType::BF16), 10 * 0x1p-9);
}

TEST(Sampling, TakesTheFirstOfTheLikeliest) {
  for (uint64_t random : {0, 1, 2})
    EXPECT_EQ(sample({1, 3, 2, 3}, 0, random), 1);
}

/// Pearson's statistic of 20000 draws against softmax(logits / temperature).
double getChiSquare(const std::vector<double> &logits, double temperature) {
  constexpr int draws = 20000;
  std::vector<int> counts(logits.size());
  for (int i = 0; i < draws; ++i)
    ++counts[sample(logits, temperature, i)];
  double total = 0, statistic = 0;
  for (double logit : logits)
    total += std::exp(logit / temperature);
  for (size_t i = 0; i < logits.size(); ++i) {
    double wanted = draws * std::exp(logits[i] / temperature) / total;
    statistic += (counts[i] - wanted) * (counts[i] - wanted) / wanted;
  }
  return statistic;
}

TEST(Sampling, DrawsFromTheSoftmax) {
  // Of 5 degrees of freedom: exceeded once in a million if all is right.
  constexpr double limit = 35.9;
  std::vector<double> logits = {0, 1, -1, 2, 0.5, 1.5};
  for (double temperature : {0.5, 1.0, 2.0, 50.0})
    EXPECT_LT(getChiSquare(logits, temperature), limit) << temperature;
}

TEST(Sampling, ATemperatureMattersToTheDraw) {
  // The cold draw is the likeliest token, the hot one any.
  std::vector<double> logits = {0, 1, 2};
  int cold = 0, hot = 0;
  for (uint64_t i = 1; i <= 1000; ++i) {
    cold += sample(logits, 0.05, i) == 2;
    hot += sample(logits, 1000, i) == 2;
  }
  EXPECT_EQ(cold, 1000);
  EXPECT_NEAR(hot, 333, 80);
}

TEST(Sampling, SurvivesLargeAndInfiniteLogits) {
  std::vector<double> logits = {1e300, -kInfinity, 1e300};
  int first = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    int64_t token = sample(logits, 1, i);
    EXPECT_NE(token, 1);
    first += token == 0;
  }
  EXPECT_NEAR(first, 500, 100);
}

} // namespace

/// Every 8-bit float is its own rounding, and what lies between two becomes the
/// nearer one, of two the even.
template <typename T> static void checkFloat8() {
  auto get = [](int bits) {
    T value;
    value.bits = static_cast<uint8_t>(bits);
    return static_cast<float>(value);
  };
  for (int bits = 0; bits < 256; ++bits) {
    float value = get(bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(T(value)))) << bits;
      continue;
    }
    EXPECT_EQ(T(value).bits, bits);
    float next = get(bits + 1);
    if ((bits & 0x7f) == 0x7f || !std::isfinite(next))
      continue;
    float middle = (value + next) / 2;
    EXPECT_EQ(T(middle).bits, bits + (bits & 1));
    EXPECT_EQ(T(std::nextafter(middle, value)).bits, bits);
    EXPECT_EQ(T(std::nextafter(middle, next)).bits, bits + 1);
  }
}

TEST(Numbers, RoundToEightBits) {
  checkFloat8<Float8E4M3FN>();
  checkFloat8<Float8E5M2>();
  // Beyond the largest: infinity, or what is no number.
  EXPECT_EQ(Float8E5M2(61440.0f).bits, 0x7c);
  EXPECT_EQ(Float8E5M2(-INFINITY).bits, 0xfc);
  EXPECT_EQ(Float8E4M3FN(464.0f).bits, 0x7e);
  EXPECT_EQ(Float8E4M3FN(465.0f).bits, 0x7f);
}
