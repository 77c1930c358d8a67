// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Programs.h"

#include "lib/Plan/Atoms.h"
#include "lib/Plan/Slack.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace tp;
using namespace tp::plan;

namespace {

/// A step with two gradients: of a weight that is widened first, and of one
/// that is used twice.
constexpr const char *kStep = R"(
func.func @step(%x: tensor<8x64xf32>, %v: tensor<64x64xbf16>,
                %w: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %wide = tp.convert %v : tensor<64x64xbf16> -> tensor<64x64xf32>
  %h = tp.einsum "bi,ij->bj" %x, %wide
       : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %y = tp.einsum "bi,ij->bj" %h, %w
       : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %dv = tp.einsum "bi,bj->ij" %x, %y
       : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<64x64xf32>
  %dw = tp.einsum "bi,bj->ji" %h, %y
       : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<64x64xf32>
  %turned = tp.transpose %dw [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
  %updated = tp.sub %w, %turned : tensor<64x64xf32>
  return %dv, %updated : tensor<64x64xf32>, tensor<64x64xf32>
})";

/// A program, its plan graph, and its slack. All axes may shard its arguments.
struct PlannedSlack : PlannedProgram {
  explicit PlannedSlack(const char *text) : PlannedProgram("\"x\"=2", text) {}

  SearchSpace space{*table, collectAtoms(function, *table, /*allAxes=*/true),
                    *cost, /*evenly=*/false};
  ProgramView view{function};
  PlanGraph graph = buildGraph(space, view, function, /*freeArguments=*/true);
  Slack slack{graph, view, space.pool, /*bucketBytes=*/25 << 20};
};

/// A reshard of one launch.
constexpr cost::Price kLaunch = {/*cost=*/3, /*preference=*/0, /*launches=*/1};

TEST(SlackTest, WhatWaitsForNothingSharesAStart) {
  PlannedSlack program(kStep);
  PlanGraph &graph = program.graph;
  Slack &slack = program.slack;
  slack.setShares(graph);
  auto getShares = [&](Value value) {
    const PlanValue &found = graph.values[graph.valueNumbers.lookup(value)];
    return std::pair(found.shares.sums.start, found.shares.gathers.start);
  };
  using Shares = std::pair<double, double>;
  Block &body = program.function.getBody().front();
  SmallVector<Value> results;
  for (Operation &op : body.without_terminator())
    results.push_back(op.getResult(0));
  auto [wide, h, y, dv, dw, turned, updated] =
      std::tuple(results[0], results[1], results[2], results[3], results[4],
                 results[5], results[6]);
  // The narrow argument is gathered by itself, and the wide one with the two
  // others. Two gradients are summed together.
  EXPECT_EQ(getShares(body.getArgument(1)), Shares(1, 1));
  EXPECT_EQ(getShares(wide), Shares(1, 1. / 3));
  for (Value late : {dv, dw, turned})
    EXPECT_EQ(getShares(late), Shares(1. / 2, 1));
  // Products wait for activations, and the updated weight is no gradient.
  for (Value alone : {h, y, updated})
    EXPECT_EQ(getShares(alone), Shares(1, 1));

  // In a plan that gathers two weights and sums one gradient, two share a
  // start.
  std::vector<ReshardsPrice> prices(graph.values.size());
  auto getNumber = [&](Value value) {
    return graph.valueNumbers.lookup(value);
  };
  prices[getNumber(wide)].gathers = prices[getNumber(h)].gathers = kLaunch;
  prices[getNumber(body.getArgument(2))].gathers = kLaunch;
  prices[getNumber(dw)].sums = 2 * kLaunch;
  slack.recount(prices);
  slack.setShares(graph);
  EXPECT_EQ(getShares(wide), Shares(1, 1. / 2));
  for (Value alone : {dv, dw, h})
    EXPECT_EQ(getShares(alone), Shares(1, 1));
  EXPECT_EQ(slack.getSavedStarts(prices), 1);

  // Reshards run during computation, but a product's gather does not.
  EXPECT_TRUE(slack.hasGathersWithSlack(getNumber(wide)));
  EXPECT_TRUE(slack.hasSumsWithSlack(getNumber(dw)));
  EXPECT_FALSE(slack.hasGathersWithSlack(getNumber(h)));
  EXPECT_FALSE(slack.hasSumsWithSlack(getNumber(h)));
  slack.setExposed(0.25);
  slack.setShares(graph);
  auto getCosts = [&](Value value) {
    const ReshardShares &shares = graph.values[getNumber(value)].shares;
    return Shares(shares.sums.cost, shares.gathers.cost);
  };
  EXPECT_EQ(getCosts(wide), Shares(1, 0.25));
  EXPECT_EQ(getCosts(dw), Shares(0.25, 1));
  EXPECT_EQ(getCosts(h), Shares(1, 1));
}

/// Layers in a loop, which writes the gradients of all layers into a stack,
/// adds up those of a weight that all layers share, and carries activations.
constexpr const char *kLoop = R"(
func.func @loop(%x: tensor<8x64xf32>, %w: tensor<5x64x64xf32>)
    -> (tensor<8x64xf32>, tensor<5x64x64xf32>, tensor<64x64xf32>) {
  %none = tp.constant dense<0.0> : tensor<5x64x64xf32>
  %nothing = tp.constant dense<0.0> : tensor<64x64xf32>
  %y, %g, %t = tp.for 5 (%x, %none, %nothing) {
  ^bb0(%i: tensor<i32>, %h: tensor<8x64xf32>, %stack: tensor<5x64x64xf32>,
       %total: tensor<64x64xf32>):
    %zero = tp.constant dense<0> : tensor<i32>
    %ws = tp.dynamic_slice %w [%i, %zero, %zero]
        : (tensor<5x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>)
        -> tensor<1x64x64xf32>
    %wi = tp.reshape %ws : tensor<1x64x64xf32> -> tensor<64x64xf32>
    %a = tp.einsum "bi,io->bo" %h, %wi
        : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    %s = tp.einsum "bi,bo->io" %h, %a
        : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<64x64xf32>
    %row = tp.reshape %s : tensor<64x64xf32> -> tensor<1x64x64xf32>
    %next = tp.dynamic_update_slice %stack, %row[%i, %zero, %zero]
        : (tensor<5x64x64xf32>, tensor<1x64x64xf32>, tensor<i32>, tensor<i32>,
           tensor<i32>) -> tensor<5x64x64xf32>
    %u = tp.einsum "bi,bo->io" %a, %a
        : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<64x64xf32>
    %sum = tp.add %total, %u : tensor<64x64xf32>
    tp.yield %a, %next, %sum
        : tensor<8x64xf32>, tensor<5x64x64xf32>, tensor<64x64xf32>
  } : (tensor<8x64xf32>, tensor<5x64x64xf32>, tensor<64x64xf32>)
   -> (tensor<8x64xf32>, tensor<5x64x64xf32>, tensor<64x64xf32>)
  return %y, %g, %t
      : tensor<8x64xf32>, tensor<5x64x64xf32>, tensor<64x64xf32>
})";

TEST(SlackTest, LoopsGatherLayersEarlyAndCollectSums) {
  PlannedSlack program(kLoop);
  PlanGraph &graph = program.graph;
  Slack &slack = program.slack;
  slack.setExposed(0.5);
  slack.setShares(graph);
  std::vector<std::string> gathered, summed;
  for (Block *block :
       {&program.function.getBody().front(),
        &(*program.function.getOps<ForOp>().begin()).getBody().front()})
    for (Operation &op : *block)
      for (OpResult result : op.getResults()) {
        auto it = graph.valueNumbers.find(result);
        if (it == graph.valueNumbers.end())
          continue;
        std::string name = (op.getName().stripDialect() + "#" +
                            Twine(result.getResultNumber()))
                               .str();
        if (slack.hasGathersWithSlack(it->second))
          gathered.push_back(name);
        if (slack.hasSumsWithSlack(it->second))
          summed.push_back(name);
        // Every iteration starts its own collectives.
        if (block->getParentOp() != program.function) {
          EXPECT_EQ(graph.values[it->second].shares.sums.start, 1);
          EXPECT_EQ(graph.values[it->second].shares.gathers.start, 1);
        }
      }
  EXPECT_EQ(gathered,
            (std::vector<std::string>{"dynamic_slice#0", "reshape#0"}));
  // What is carried from layer to layer is no sum, but its last value is only
  // returned.
  EXPECT_EQ(summed,
            (std::vector<std::string>{"for#0", "for#1", "for#2", "einsum#0",
                                      "reshape#0", "einsum#0", "add#0"}));
}

} // namespace
