// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Work and prices of ops small enough to count by hand.

#include "lib/Cost/OpCost.h"

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <deque>

using namespace mlir;
using namespace tp;
using namespace tp::cost;

namespace {

class OpCostTest : public ::testing::Test {
protected:
  OpCostTest() {
    DialectRegistry registry;
    registry.insert<TPDialect, spmd::SPMDDialect, func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    mesh.axes = {{"m", 4, {}}, {"n", 3, {}}};
  }

  /// Reads the one op of a function.
  void read(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    ASSERT_TRUE(module);
    op = &(*module->getOps<func::FuncOp>().begin()).front().front();
    rule = cast<spmd::ShardingRuleOpInterface>(op).getShardingRule();
  }

  /// Axes of the mesh by dimension; -1 is none.
  const TensorSharding *lay(ArrayRef<int> axes) {
    TensorSharding &sharding =
        shardings.emplace_back(TensorSharding::replicate(axes.size()));
    for (auto [dim, axis] : llvm::zip_equal(sharding.dims, axes))
      if (axis >= 0)
        dim.axes.push_back(AxisRef::full(mesh, axis));
    return &shardings.back();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Operation *op = nullptr;
  ShardingRule rule;
  Mesh mesh;
  std::deque<TensorSharding> shardings;
};

constexpr const char *kProduct = R"(
func.func @f(%x: tensor<8x64xf32>, %w: tensor<64x32xf32>) -> tensor<8x32xf32> {
  %y = tp.einsum "ik,kj->ij" %x, %w : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
})";

TEST_F(OpCostTest, AProductIsWorthItsBlocks) {
  read(kProduct);
  Work work = getWork(op, rule, {lay({-1, 0}), lay({0, -1}), lay({-1, -1})});
  EXPECT_EQ(work.flops, 2 * 8 * 16 * 32);
  EXPECT_EQ(work.bytes, (8 * 16 + 16 * 32 + 8 * 32) * 4);
  EXPECT_EQ(work.bits, 32u);
  EXPECT_TRUE(work.contraction);
  // Without layouts all is whole.
  work = getWork(op, rule, {nullptr, nullptr, nullptr});
  EXPECT_EQ(work.flops, 2 * 8 * 64 * 32);
  EXPECT_EQ(work.bytes, (8 * 64 + 64 * 32 + 8 * 32) * 4);
}

TEST_F(OpCostTest, AnUnevenBlockCountsWithItsPaddingOrAsAShare) {
  read(kProduct);
  SmallVector<const TensorSharding *> layouts = {lay({1, -1}), lay({-1, -1}),
                                                 lay({1, -1})};
  // 8 rows over 3 devices: 3, 3 and 2.
  EXPECT_EQ(getWork(op, rule, layouts).flops, 2 * 3 * 64 * 32);
  EXPECT_DOUBLE_EQ(getWork(op, rule, layouts, UnevenBlocks::Average).flops,
                   2 * 8 * 64 * 32 / 3.0);
}

TEST_F(OpCostTest, WhatAddressesAPartTouchesThePart) {
  read(R"(
func.func @f(%x: tensor<100x8xf32>, %u: tensor<2x8xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<100x8xf32> {
  %y = tp.dynamic_update_slice %x, %u[%i, %j] : (tensor<100x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<100x8xf32>
  return %y : tensor<100x8xf32>
})");
  EXPECT_EQ(
      getWork(op, rule, {nullptr, nullptr, nullptr, nullptr, nullptr}).bytes,
      2 * (2 * 8 * 4 + 4 + 4));
}

TEST_F(OpCostTest, AReshapeIsNoWork) {
  read(R"(
func.func @f(%x: tensor<8x6xf32>) -> tensor<48xf32> {
  %y = tp.reshape %x : tensor<8x6xf32> -> tensor<48xf32>
  return %y : tensor<48xf32>
})");
  Work work = getWork(op, rule, {nullptr, nullptr});
  EXPECT_EQ(work.flops, 0);
  EXPECT_EQ(work.bytes, 0);
}

TEST_F(OpCostTest, WithoutAMachineContractionsAreWorthBytesAndTheRestIsATie) {
  read(kProduct);
  CostModel model(mesh, std::nullopt);
  std::optional<Price> price =
      model.getPrice(op, rule, {nullptr, nullptr, nullptr});
  ASSERT_TRUE(price);
  EXPECT_EQ(price->cost, 2 * 8 * 64 * 32 / 64.0);
  EXPECT_EQ(price->preference, 0);

  read(R"(
func.func @f(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = tp.tanh %x : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
})");
  price = model.getPrice(op, rule, {nullptr, nullptr});
  ASSERT_TRUE(price);
  EXPECT_EQ(price->cost, 0);
  EXPECT_GT(price->preference, 0);
  EXPECT_LT(price->preference, model.getLaunchPreference(8 * 64 * 4));
}

TEST_F(OpCostTest, AMachineKnowsItsRateForEachWidth) {
  Machine machine;
  machine.flops = 100;
  machine.flops8 = 200;
  machine.memoryBandwidth = 1e9;
  CostModel model(mesh, machine);
  double flops = 2 * 8 * 64 * 32;
  for (auto [type, rate] : {std::pair("f32", 50.0), std::pair("bf16", 100.0),
                            std::pair("f8E4M3FN", 200.0)}) {
    std::string text = kProduct;
    for (size_t at = 0; (at = text.find("f32>", at)) != std::string::npos; ++at)
      text.replace(at, 3, type);
    read(text);
    std::optional<Price> price =
        model.getPrice(op, rule, {nullptr, nullptr, nullptr});
    ASSERT_TRUE(price);
    EXPECT_DOUBLE_EQ(price->cost, flops / rate) << type;
  }
}

} // namespace
