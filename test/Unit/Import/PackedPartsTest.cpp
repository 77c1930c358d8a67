// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which weights are several in one, and what is made of their parts.

#include "passes/Import/PackedParts.h"

#include "tpopt/Dialect/SPMD/SPMD.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tp;

namespace {
class PackedParts : public testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<func::FuncDialect, spmd::SPMDDialect, TPDialect>();
  }

  /// The function f, of a weight of [6, 4] that has parts of 4 and 2 rows.
  func::FuncOp parse(const std::string &body) {
    module = parseSourceString<ModuleOp>(
        "func.func @f(%w: tensor<6x4xf32>, %x: tensor<2x4xf32>, "
        "%a: tensor<4x2xf32>, %b: tensor<2x2xf32>) " +
            body,
        &context);
    return module ? module->lookupSymbol<func::FuncOp>("f") : func::FuncOp();
  }

  /// Whether what f returns first is made of the parts.
  bool isParted(const std::string &body, unsigned dim) {
    func::FuncOp function = parse(body);
    llvm::SetVector<Value> arguments;
    arguments.insert(function.getArgument(0));
    Parting parting({0, {{0, 4}, {4, 6}}}, arguments);
    return parting.has(function.front().getTerminator()->getOperand(0), dim);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST(Split, PartsOfOtherSizes) {
  Split split{0, {{0, 4}, {4, 6}}};
  EXPECT_EQ(*split.getParts(6), split.parts);
  EXPECT_EQ(*split.getParts(3), (SmallVector<Interval, 3>{{0, 2}, {2, 3}}));
  EXPECT_EQ(*split.getParts(12), (SmallVector<Interval, 3>{{0, 8}, {8, 12}}));
  EXPECT_FALSE(split.getParts(2));
}

TEST_F(PackedParts, SlicesSayTheSplit) {
  func::FuncOp function = parse(R"(-> (tensor<2x4xf32>, tensor<2x2xf32>) {
    %0 = tp.einsum "bi,oi->bo" %x, %w : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<2x6xf32>
    %1 = tp.reshape %0 : tensor<2x6xf32> -> tensor<2x3x2xf32>
    %2 = tp.slice %1 starts = [0, 0, 0] strides = [1, 1, 1] : tensor<2x3x2xf32> -> tensor<2x2x2xf32>
    %3 = tp.slice %1 starts = [0, 2, 0] strides = [1, 1, 1] : tensor<2x3x2xf32> -> tensor<2x1x2xf32>
    %4 = tp.reshape %2 : tensor<2x2x2xf32> -> tensor<2x4xf32>
    %5 = tp.reshape %3 : tensor<2x1x2xf32> -> tensor<2x2xf32>
    return %4, %5 : tensor<2x4xf32>, tensor<2x2xf32>
  })");
  Tracker tracker;
  ASSERT_TRUE(tracker.follow(function.getArgument(0), 0));
  EXPECT_EQ(tracker.getSplit(), (Split{0, {{0, 4}, {4, 6}}}));
  EXPECT_EQ(tracker.slices.size(), 2u);
  EXPECT_TRUE(tracker.sums.empty());
  // What is summed over says nothing of parts.
  Tracker other;
  EXPECT_TRUE(other.follow(function.getArgument(0), 1));
  EXPECT_FALSE(other.getSplit());
  EXPECT_EQ(other.sums.size(), 1u);
  EXPECT_EQ(getOperandDims(other.sums.front()),
            (SmallVector<std::pair<unsigned, unsigned>, 2>{{0, 1}, {1, 1}}));
}

TEST_F(PackedParts, GradientsAreMadeOfParts) {
  // Through a transpose, a product and an update.
  const char *update = R"(-> tensor<6x4xf32> {
    %0 = tp.concat %a, %b dim = 0 : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<6x2xf32>
    %1 = tp.transpose %0 [1, 0] : tensor<6x2xf32> -> tensor<2x6xf32>
    %2 = tp.einsum "bo,bi->oi" %1, %x : (tensor<2x6xf32>, tensor<2x4xf32>) -> tensor<6x4xf32>
    %3 = tp.sub %w, %2 : tensor<6x4xf32>
    return %3 : tensor<6x4xf32>
  })";
  EXPECT_TRUE(isParted(update, 0));
  EXPECT_FALSE(isParted(update, 1));
  // Dimensions that a reshape joins, where parts are whole in the first.
  EXPECT_TRUE(isParted(R"(-> tensor<12xf32> {
    %0 = tp.concat %a, %b dim = 0 : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<6x2xf32>
    %1 = tp.reshape %0 : tensor<6x2xf32> -> tensor<12xf32>
    return %1 : tensor<12xf32>
  })",
                       0));
  // A concatenation whose ends are elsewhere.
  EXPECT_FALSE(isParted(R"(-> tensor<6x2xf32> {
    %0 = tp.concat %b, %a dim = 0 : (tensor<2x2xf32>, tensor<4x2xf32>) -> tensor<6x2xf32>
    return %0 : tensor<6x2xf32>
  })",
                        0));
  // What comes from outside.
  EXPECT_FALSE(isParted(R"(-> tensor<4x2xf32> {
    return %a : tensor<4x2xf32>
  })",
                        0));
  // A letter that both sides have.
  EXPECT_FALSE(isParted(R"(-> tensor<6x4xf32> {
    %0 = tp.einsum "oi,oi->oi" %w, %w : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
    return %0 : tensor<6x4xf32>
  })",
                        0));
}

TEST_F(PackedParts, OriginsOfReshapes) {
  func::FuncOp function = parse(R"(-> tensor<12x2xf32> {
    %0 = tp.reshape %w : tensor<6x4xf32> -> tensor<12x2xf32>
    return %0 : tensor<12x2xf32>
  })");
  Operation *reshape = &function.front().front();
  SmallVector<Origin, 2> origins = getOrigins(reshape, 0);
  ASSERT_EQ(origins.size(), 1u);
  EXPECT_EQ(origins[0].get({4, 12}), (Interval{2, 6}));
}
