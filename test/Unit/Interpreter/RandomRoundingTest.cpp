// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random rounding errors are as large as rounding errors are, and there are
// none where compiled code makes none.

#include "Harness.h"

#include "lib/Interpreter/RandomRounding.h"

using namespace tp;
using namespace tp::interp;
using namespace mlir;

namespace {

constexpr uint64_t kSeeds = 400;

class RandomRoundingTest : public InterpreterFixture {
protected:
  /// `value` as a result of `element`.
  double roundTo(double value, Type element, uint64_t seed) {
    RandomRoundingEvaluator evaluator(seed);
    TensorValue x = makeRealTensor(type({1}, element), {-value});
    return real(evaluator.unary(UnaryKind::Neg, x, x->getType()), {0});
  }
  /// How often `value` goes to each of its neighbors.
  std::map<double, int> countRoundings(double value, Type element) {
    std::map<double, int> counts;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed)
      ++counts[roundTo(value, element, seed)];
    return counts;
  }
};

TEST_F(RandomRoundingTest, GoesToBothNeighborsByTheirDistance) {
  for (StringRef name : {"f32", "bf16", "f16", "f8E4M3FN", "f8E5M2"}) {
    Type element = parse(name);
    double ulp =
        std::ldexp(1.0, 1 - int(APFloat::semanticsPrecision(
                                cast<FloatType>(element).getFloatSemantics())));
    for (double sign : {1.0, -1.0}) {
      auto counts = countRoundings(sign * (1 + ulp / 4), element);
      ASSERT_EQ(counts.size(), 2u) << name.str();
      // A quarter of the draws; the deviation is 9.
      EXPECT_NEAR(counts[sign * (1 + ulp)], kSeeds / 4, 45) << name.str();
      EXPECT_EQ(counts.count(sign), 1u) << name.str();
    }
  }
}

TEST_F(RandomRoundingTest, KeepsWhatTheTypeHolds) {
  double infinity = std::numeric_limits<double>::infinity();
  for (StringRef name : {"f64", "f32", "bf16", "f16", "f8E5M2"})
    for (double value : {0.0, 1.0, -3.0, 0.625, 0x1p-16, infinity})
      EXPECT_EQ(countRoundings(value, parse(name)),
                (std::map<double, int>{{value, kSeeds}}))
          << name.str() << " " << value;
  // The least number of f32, and half of it.
  EXPECT_EQ(countRoundings(0x1p-149, f32()).size(), 1u);
  EXPECT_EQ(countRoundings(0x1p-150, f32()).size(), 2u);
}

TEST_F(RandomRoundingTest, OverflowsAsTheTypeDoes) {
  EXPECT_TRUE(std::isinf(roundTo(1e39, f32(), 1)));
  EXPECT_TRUE(std::isnan(roundTo(1e3, parse("f8E4M3FN"), 1)));
}

TEST_F(RandomRoundingTest, MovesSumsByTheirMagnitudes) {
  // What is left of sums that cancel is noise; of whole numbers it is not.
  auto vector = type({4}, f32()), scalar = type({}, f32());
  TensorValue noise = makeRealTensor(vector, {0.1, 0.2, 0.3, -0.6});
  TensorValue whole = makeRealTensor(vector, {5, -2, 3, -6});
  TensorValue ones = makeRealTensor(vector, {1, 1, 1, 1});
  double most = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    RandomRoundingEvaluator evaluator(seed);
    for (bool isProduct : {false, true}) {
      auto add = [&](const TensorValue &x) {
        return real(isProduct
                        ? evaluator.contract("a,a->", x, ones, scalar)
                        : evaluator.reduce(ReductionKind::Sum, x, {0}, scalar),
                    {});
      };
      EXPECT_EQ(add(whole), 0);
      double sum = std::abs(add(noise));
      EXPECT_LE(sum, 1.3 * 0x1p-24);
      most = std::max(most, sum);
    }
  }
  EXPECT_GE(most, 0.3 * 0x1p-24);
}

TEST_F(RandomRoundingTest, ConvertsToTheNearestButForAFew) {
  int others = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    RandomRoundingEvaluator evaluator(seed);
    TensorValue x = makeRealTensor(type({1}, f32()), {1 + 0x1p-9});
    others += real(evaluator.convert(x, type({1}, parse("bf16"))), {0}) != 1;
  }
  // A quarter of one in 16; the deviation is 2.5.
  EXPECT_NEAR(others, kSeeds / 64, 6);
  EXPECT_GT(others, 0);
}

TEST_F(RandomRoundingTest, RoundsEqualValuesAlike) {
  RandomRoundingEvaluator one(7), other(7);
  TensorValue x = makeRealTensor(type({2}, f32()), {0.3, 0.3});
  TensorValue a = one.unary(UnaryKind::Exp, x, x->getType());
  TensorValue b = other.unary(UnaryKind::Exp, x, x->getType());
  EXPECT_EQ(real(a, {0}), real(a, {1}));
  EXPECT_EQ(real(a, {0}), real(b, {0}));
}

} // namespace
