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

/// `draws` are what is wanted with other rounding errors.
Comparison compareAs(DType dtype, const std::vector<double> &got,
                     const std::vector<double> &wanted,
                     const std::vector<std::vector<double>> &draws) {
  std::vector<std::string> bytes;
  for (const std::vector<double> &draw : draws)
    bytes.push_back(encode(dtype, draw));
  std::vector<absl::string_view> views(bytes.begin(), bytes.end());
  return compare(dtype, encode(dtype, got), encode(dtype, wanted), views);
}

/// A tensor of normal numbers times `scale`.
std::vector<double> makeNormal(size_t count, double scale, uint64_t seed) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (uint64_t part = 0; part < 12; ++part)
      sum +=
          static_cast<double>(mix(mix(seed) + 12 * i + part) >> 11) * 0x1p-53;
    values[i] = (sum - 6) * scale;
  }
  return values;
}

std::vector<double> addTo(std::vector<double> values,
                          const std::vector<double> &errors,
                          double factor = 1) {
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = factor * values[i] + errors[i];
  return values;
}

/// `wanted` times a factor, against draws whose errors have a size.
Verdict judgeFactor(DType dtype, const std::vector<double> &wanted,
                    double error, double factor) {
  size_t count = wanted.size();
  std::vector<std::vector<double>> draws;
  for (uint64_t seed = 1; seed <= 4; ++seed)
    draws.push_back(addTo(wanted, makeNormal(count, error, seed)));
  return compareAs(dtype, addTo(wanted, makeNormal(count, error, 99), factor),
                   wanted, draws)
      .verdict;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Numbers, IntegersArePrintedWithAllDigits) {
  auto print = [](DType dtype, uint64_t bits) {
    std::string bytes(reinterpret_cast<const char *>(&bits), getSize(dtype));
    return format(dtype, bytes).front();
  };
  EXPECT_EQ(print(DType::I64, uint64_t{1} << 63), "-9223372036854775808");
  EXPECT_EQ(print(DType::U64, ~uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(print(DType::I32, 1977326743), "1977326743");
  EXPECT_EQ(print(DType::I8, 0x80), "-128");
  EXPECT_EQ(print(DType::U8, 0x80), "128");
  EXPECT_EQ(print(DType::Bool, 1), "1");
  EXPECT_EQ(format(DType::F32, encode(DType::F32, {0.1, -2}))[0],
            "0.100000001");
}

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

TEST(Compare, AllowsWhatRoundingMoves) {
  std::vector<double> wanted = {100, 0.25, -200, 1, 1, 1, 1, 1};
  std::vector<double> draw = wanted, got = wanted;
  draw[1] = 0.26;
  auto judge = [&](size_t place, double value) {
    got = wanted;
    got[place] = value;
    return compareAs(DType::F64, got, wanted, {draw, wanted});
  };
  EXPECT_EQ(judge(1, 0.3).verdict, Verdict::Fine);
  Comparison far = judge(1, 0.5);
  EXPECT_EQ(far.verdict, Verdict::Wrong);
  EXPECT_EQ(far.place, 1);
  EXPECT_EQ(far.difference, 0.25);
  EXPECT_NEAR(far.spread, 0.01, 1e-12);
  EXPECT_NEAR(far.allowed, 0.08, 1e-12);
  // Elements that rounding does not move.
  EXPECT_EQ(judge(0, 100.01).verdict, Verdict::Wrong);
  EXPECT_EQ(judge(3, 1 + 0x1p-51).verdict, Verdict::Fine);
  EXPECT_EQ(judge(3, 1 + 0x1p-49).verdict, Verdict::Wrong);
}

TEST(Compare, DoesNotDecideWhereRoundingIsTooLarge) {
  // What is left of a sum that cancels.
  std::vector<double> wanted = makeNormal(64, 1e-9, 1);
  EXPECT_EQ(judgeFactor(DType::F32, wanted, 1e-9, 1), Verdict::Undecided);
  EXPECT_EQ(judgeFactor(DType::F32, wanted, 1e-9, 100), Verdict::Wrong);
  // One such element among others.
  std::vector<double> digits = makeNormal(64, 1, 1), moved = digits;
  digits[5] = 1e-3;
  moved[5] = 1;
  Comparison one = compareAs(DType::F32, moved, digits, {digits, moved});
  EXPECT_EQ(one.verdict, Verdict::Fine);
  EXPECT_EQ(one.undecided, 1);
}

TEST(Compare, FindsFactorsInEveryFloat) {
  std::vector<double> wanted = makeNormal(512, 1, 1);
  struct {
    DType dtype;
    double error;
  } cases[] = {{DType::F64, 1e-16},     {DType::F32, 1e-7},
               {DType::F16, 5e-4},      {DType::BF16, 4e-3},
               {DType::F8E4M3FN, 0.04}, {DType::F8E5M2, 0.1},
               {DType::F32, 0.04}}; // computed in 8 bits
  for (auto [dtype, error] : cases) {
    EXPECT_EQ(judgeFactor(dtype, wanted, error, 1), Verdict::Fine)
        << getName(dtype) << " " << error;
    for (double factor : {2.0, 0.0, -1.0})
      EXPECT_EQ(judgeFactor(dtype, wanted, error, factor), Verdict::Wrong)
          << getName(dtype) << " " << error << " " << factor;
  }
}

TEST(Compare, FindsNothingWhereAllIsEqual) {
  for (uint32_t type = 0; type < kNumDTypes; ++type)
    EXPECT_EQ(
        compareAs(static_cast<DType>(type), {0, 1, 0}, {0, 1, 0}, {}).verdict,
        Verdict::Fine);
  EXPECT_EQ(compareAs(DType::F32, {}, {}, {}).verdict, Verdict::Fine);
  EXPECT_EQ(compareAs(DType::I32, {}, {}, {}).verdict, Verdict::Fine);
}

TEST(Compare, TreatsWhatIsNoNumberAsAValueOfItsOwn) {
  auto judge = [](const std::vector<double> &got,
                  const std::vector<double> &wanted,
                  const std::vector<double> &draw) {
    return compareAs(DType::F32, got, wanted, {draw}).verdict;
  };
  EXPECT_EQ(judge({kNaN, 1}, {kNaN, 1}, {kNaN, 1}), Verdict::Fine);
  EXPECT_EQ(judge({kNaN, 1}, {0, 1}, {0, 1}), Verdict::Wrong);
  EXPECT_EQ(judge({0, 1}, {kNaN, 1}, {kNaN, 1}), Verdict::Wrong);
  EXPECT_EQ(judge({kInfinity}, {kInfinity}, {kInfinity}), Verdict::Fine);
  EXPECT_EQ(judge({kInfinity, 1}, {2, 1}, {2, 1}), Verdict::Wrong);
  EXPECT_EQ(judge({1}, {-kInfinity}, {-kInfinity}), Verdict::Wrong);
  // Where rounding decides whether it is one.
  EXPECT_EQ(judge({kNaN, 1, 1, 1, 1}, {0, 1, 1, 1, 1}, {kNaN, 1, 1, 1, 1}),
            Verdict::Fine);
  EXPECT_EQ(judge({kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN}), Verdict::OnlyNaN);
  // Nothing to be relative to.
  EXPECT_EQ(judge({1e-9}, {0}, {0}), Verdict::Wrong);
}

TEST(Compare, WantsEqualIntegersUnlessADrawDiffers) {
  std::vector<double> wanted = {3, 4, 5};
  EXPECT_EQ(compareAs(DType::I32, {3, 4, 6}, wanted, {wanted}).verdict,
            Verdict::Wrong);
  Comparison flips = compareAs(DType::I32, {3, 4, 6}, wanted, {{3, 4, 7}});
  EXPECT_EQ(flips.verdict, Verdict::Fine);
  EXPECT_EQ(flips.undecided, 1);
  EXPECT_EQ(compareAs(DType::Bool, {1}, {0}, {{1}}).verdict,
            Verdict::Undecided);
  int64_t a = (int64_t{1} << 53) + 1, b = int64_t{1} << 53;
  absl::string_view draw(reinterpret_cast<char *>(&b), 8);
  EXPECT_EQ(compare(DType::I64, {reinterpret_cast<char *>(&a), 8}, draw, {draw})
                .verdict,
            Verdict::Wrong);
}

int64_t sampleAs(DType dtype, const std::vector<double> &logits,
                 double temperature, uint64_t random) {
  return sample(dtype, encode(dtype, logits), temperature, random);
}

int64_t sampleDoubles(const std::vector<double> &logits, double temperature,
                      uint64_t random) {
  return sampleAs(DType::F64, logits, temperature, random);
}

TEST(Sampling, TakesTheFirstOfTheLikeliest) {
  for (uint64_t random : {0, 1, 2})
    EXPECT_EQ(sampleDoubles({1, 3, 2, 3}, 0, random), 1);
}

/// Of numbers that each type has, the same token is drawn.
TEST(Sampling, TypesAreAlike) {
  const std::vector<double> logits = {-2, 0.5, 1.5, 1.75, -1, 1.75};
  for (DType dtype :
       {DType::F32, DType::BF16, DType::F16, DType::F8E4M3FN, DType::F8E5M2}) {
    EXPECT_EQ(sampleAs(dtype, logits, 0, 1), 3);
    for (uint64_t random = 0; random < 50; ++random)
      EXPECT_EQ(sampleAs(dtype, logits, 1, random),
                sampleDoubles(logits, 1, random));
  }
}

/// Pearson's statistic of 20000 draws against softmax(logits / temperature).
double getChiSquare(const std::vector<double> &logits, double temperature) {
  constexpr int draws = 20000;
  std::vector<int> counts(logits.size());
  for (int i = 0; i < draws; ++i)
    ++counts[sampleDoubles(logits, temperature, i)];
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
    cold += sampleDoubles(logits, 0.05, i) == 2;
    hot += sampleDoubles(logits, 1000, i) == 2;
  }
  EXPECT_EQ(cold, 1000);
  EXPECT_NEAR(hot, 333, 80);
}

TEST(Sampling, SurvivesLargeAndInfiniteLogits) {
  std::vector<double> logits = {1e300, -kInfinity, 1e300};
  int first = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    int64_t token = sampleDoubles(logits, 1, i);
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
