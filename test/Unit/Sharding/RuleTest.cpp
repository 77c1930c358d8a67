// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Sharding/Rule.h"

#include "gtest/gtest.h"

#include <functional>
#include <numeric>

using namespace tp;

namespace {

using Shape = std::vector<int64_t>;

std::string text(const ShardingRule &rule) {
  std::string out;
  llvm::raw_string_ostream os(out);
  rule.print(os);
  return out;
}

/// The rule as text, or the error.
std::string parse(const char *equation, std::vector<Shape> operands,
                  std::vector<Shape> results) {
  llvm::SmallVector<llvm::ArrayRef<int64_t>> in(operands.begin(),
                                                operands.end());
  llvm::SmallVector<llvm::ArrayRef<int64_t>> out(results.begin(),
                                                 results.end());
  auto rule = ShardingRule::parse(equation, in, out);
  return rule ? text(*rule) : llvm::toString(rule.takeError());
}

TEST(Rule, ReadsEquations) {
  EXPECT_EQ(parse("ik,kj->ij", {{8, 32}, {32, 16}}, {{8, 16}}),
            "ik,kj->ij {i=8, k=32, j=16}");
  EXPECT_EQ(parse("...,...->...", {{2, 3}, {2, 3}}, {{2, 3}}),
            "AB,AB->AB {A=2, B=3}");
  EXPECT_EQ(parse("...d!,d->...d", {{2, 4, 8}, {8}}, {{2, 4, 8}}),
            "ABd!,d!->ABd! {A=2, B=4, d=8}");
  EXPECT_EQ(parse("b(hd)->bhd", {{2, 12}}, {{2, 3, 4}}),
            "b(hd)->bhd {b=2, h=3, d=4}");
  EXPECT_EQ(parse("vh,...->...h", {{100, 8}, {2, 5}}, {{2, 5, 8}}),
            "vh,AB->ABh {v=100, h=8, A=2, B=5}");
  EXPECT_EQ(parse("b1c->bc", {{2, 1, 3}}, {{2, 3}}), "b1c->bc {b=2, c=3}");
  EXPECT_EQ(parse("->", {}, {}), "-> {}");
  // A dimension without elements is a dimension.
  EXPECT_EQ(parse("ij,j->ij", {{0, 4}, {4}}, {{0, 4}}), "ij,j->ij {i=0, j=4}");
}

TEST(Rule, ElementwiseIsOneFactorADimension) {
  EXPECT_EQ(text(makeElementwiseRule(2, {2, 3})),
            parse("...,...->...", {{2, 3}, {2, 3}}, {{2, 3}}));
  EXPECT_EQ(text(makeElementwiseRule(1, {1, 5})),
            parse("...->...", {{1, 5}}, {{1, 5}}));
  EXPECT_EQ(text(makeElementwiseRule(1, {})), parse("...->...", {{}}, {{}}));
}

// Eight rows in four blocks have two factors, of which the block has the minor;
// six in one are the same; five in two blocks of three have nothing in common
// with these.
TEST(Rule, BlocksAreTheMinorFactor) {
  EXPECT_EQ(text(makeBlockRule({8, 6, 5}, {4, 1, 2}, /*toBlock=*/true)),
            "(B!A)CE!->ACD! {A=2, B=4, C=6, D=3, E=5}");
  EXPECT_EQ(text(makeBlockRule({8}, {4}, /*toBlock=*/false)),
            "A->(B!A) {A=2, B=4}");
}

TEST(Rule, KindsOfFactors) {
  Shape lhs = {8, 32}, rhs = {32, 16}, out = {8, 16};
  ShardingRule rule = llvm::cantFail(ShardingRule::parse(
      "ik,kj->ij", llvm::ArrayRef<llvm::ArrayRef<int64_t>>({lhs, rhs}),
      llvm::ArrayRef<llvm::ArrayRef<int64_t>>(llvm::ArrayRef<int64_t>(out))));
  ASSERT_EQ(rule.factors.size(), 3u);
  EXPECT_EQ(rule.factors[0].kind, FactorKind::PassThrough);
  EXPECT_EQ(rule.factors[1].kind, FactorKind::Reduction);
  EXPECT_TRUE(rule.hasFactor(0, 1));
  EXPECT_FALSE(rule.hasFactor(2, 1));
  EXPECT_EQ(rule.getNumTensors(), 3u);
}

TEST(Rule, SaysWhatDoesNotFit) {
  EXPECT_EQ(parse("ik,kj", {{8, 32}, {32, 16}}, {}),
            "equation \"ik,kj\": the equation has no '->'");
  EXPECT_EQ(
      parse("ik->i", {{8, 32}, {32, 16}}, {{8}}),
      "equation \"ik->i\": the equation has 1 operands, but the op has 2");
  EXPECT_EQ(parse("ik,kj->ij", {{8, 32}, {33, 16}}, {{8, 16}}),
            "equation \"ik,kj->ij\": letter 'k' has size 32, but "
            "dimension 0 of operand #1 has size 33");
  EXPECT_EQ(parse("ijk->i", {{8, 32}}, {{8}}),
            "equation \"ijk->i\": operand #0 has 3 dimensions in the equation, "
            "but 2 in its type");
  EXPECT_EQ(parse("ii->i", {{8, 8}}, {{8}}),
            "equation \"ii->i\": 'i' appears twice in operand #0");
  EXPECT_EQ(parse("i?->i", {{8, 8}}, {{8}}),
            "equation \"i?->i\": '?' in operand #0 is not a letter");
  EXPECT_EQ(parse("(ij->ij", {{12}}, {{3, 4}}),
            "equation \"(ij->ij\": '(' is never closed in operand #0");
  EXPECT_EQ(parse("(hd)->h", {{12}}, {{5}}),
            "equation \"(hd)->h\": the size of letter 'd' cannot be "
            "determined");
  EXPECT_EQ(parse("b1->b", {{2, 3}}, {{2}}),
            "equation \"b1->b\": dimension 1 of operand #0 has size 3, but the "
            "sizes of its letters multiply to 1");
  EXPECT_EQ(
      parse("b(hd)->bhd", {{2, 12}}, {{2, 3, 5}}),
      "equation \"b(hd)->bhd\": dimension 1 of operand #0 has size 12, but the "
      "sizes of its letters multiply to 15");
}

//===----------------------------------------------------------------------===//
// Reshape
//===----------------------------------------------------------------------===//

std::string reshape(Shape from, Shape to) {
  return text(makeReshapeRule(from, to));
}

TEST(ReshapeRule, Examples) {
  EXPECT_EQ(reshape({2, 4}, {8}), "AB->(AB) {A=2, B=4}");
  EXPECT_EQ(reshape({8}, {2, 4}), "(AB)->AB {A=2, B=4}");
  EXPECT_EQ(reshape({4, 12}, {4, 2, 3, 2}),
            "A(BCD)->ABCD {A=4, B=2, C=3, D=2}");
  EXPECT_EQ(reshape({2, 1, 3}, {2, 3}), "A1B->AB {A=2, B=3}");
  EXPECT_EQ(reshape({}, {1, 1}), "->11 {}");
  // 6 and 4 share a major factor 2, and nothing else lines up.
  EXPECT_EQ(reshape({6, 4}, {4, 6}),
            "(AB!)E!->(AC!)D! {A=2, B=3, C=2, D=6, E=4}");
}

/// All shapes with `elements` elements and up to `rank` dimensions.
std::vector<Shape> getShapes(int64_t elements, unsigned rank) {
  std::vector<Shape> shapes;
  if (elements == 1)
    shapes.push_back({});
  if (rank == 0)
    return shapes;
  for (int64_t first = 1; first <= elements; ++first)
    if (elements % first == 0)
      for (Shape rest : getShapes(elements / first, rank - 1)) {
        rest.insert(rest.begin(), first);
        shapes.push_back(rest);
      }
  return shapes;
}

/// The digit of element `number` along `factor`, if `tensor` has that.
std::optional<int64_t> getDigit(const ShardingRule &rule,
                                const TensorFactors &tensor, const Shape &shape,
                                unsigned factor, int64_t number) {
  for (size_t dim = shape.size(); dim-- > 0; number /= shape[dim]) {
    int64_t index = number % shape[dim];
    for (unsigned f : llvm::reverse(tensor[dim])) {
      if (f == factor)
        return index % rule.factors[f].size;
      index /= rule.factors[f].size;
    }
  }
  return std::nullopt;
}

// For all pairs of shapes of up to three dimensions and up to 48 elements:
// factors make up the dimensions, a factor that passes through is on both sides
// and walks the same elements there, and a factor without partner is Whole.
TEST(ReshapeRule, FactorsWalkTheSameElements) {
  for (int64_t elements = 1; elements <= 48; ++elements) {
    std::vector<Shape> shapes = getShapes(elements, 3);
    for (const Shape &from : shapes)
      for (const Shape &to : shapes) {
        ShardingRule rule = makeReshapeRule(from, to);
        SCOPED_TRACE(text(rule));
        for (auto [tensor, shape] : {std::pair(rule.operands[0], from),
                                     std::pair(rule.results[0], to)}) {
          ASSERT_EQ(tensor.size(), shape.size());
          for (size_t dim = 0; dim < shape.size(); ++dim) {
            int64_t product = 1;
            for (unsigned f : tensor[dim])
              product *= rule.factors[f].size;
            ASSERT_EQ(product, shape[dim]);
          }
        }
        for (unsigned f = 0; f < rule.factors.size(); ++f) {
          bool both = rule.hasFactor(0, f) && rule.hasFactor(1, f);
          ASSERT_EQ(rule.factors[f].kind,
                    both ? FactorKind::PassThrough : FactorKind::Whole);
          for (int64_t number = 0; both && number < elements; ++number)
            ASSERT_EQ(getDigit(rule, rule.operands[0], from, f, number),
                      getDigit(rule, rule.results[0], to, f, number));
        }
      }
  }
}

// Where one shape only splits dimensions of the other, nothing is Whole.
TEST(ReshapeRule, SplitsAndMergesKeepAllFactors) {
  for (int64_t elements = 1; elements <= 48; ++elements)
    for (const Shape &fine : getShapes(elements, 4))
      for (unsigned joints = 0; joints < (1u << fine.size()); ++joints) {
        Shape coarse;
        for (size_t dim = 0; dim < fine.size(); ++dim) {
          if (dim > 0 && (joints >> dim & 1))
            coarse.back() *= fine[dim];
          else
            coarse.push_back(fine[dim]);
        }
        for (const ShardingRule &rule :
             {makeReshapeRule(fine, coarse), makeReshapeRule(coarse, fine)})
          for (const Factor &factor : rule.factors)
            ASSERT_EQ(factor.kind, FactorKind::PassThrough) << text(rule);
      }
}

// No elements, no factors; shapes of different size do not crash.
TEST(ReshapeRule, Degenerate) {
  EXPECT_TRUE(makeReshapeRule({0, 4}, {0}).factors.empty());
  for (const Shape &from : getShapes(12, 3))
    for (const Shape &to : getShapes(10, 3))
      EXPECT_EQ(makeReshapeRule(from, to).operands.size(), 1u);
}

} // namespace
