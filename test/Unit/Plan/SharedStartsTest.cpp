// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Programs.h"

#include "lib/Plan/Atoms.h"
#include "lib/Plan/SharedStarts.h"

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

TEST(SharedStartsTest, WhatWaitsForNothingSharesAStart) {
  PlannedProgram program("\"x\"=2", kStep);
  SearchSpace space(
      *program.table,
      collectAtoms(program.function, *program.table, /*allAxes=*/true),
      *program.cost, /*evenly=*/false);
  ProgramView view(program.function);
  PlanGraph graph =
      buildGraph(space, view, program.function, /*freeArguments=*/true);
  SharedStarts starts(graph, view, space.pool, /*bucketBytes=*/25 << 20);
  starts.setShares(graph);
  auto getShares = [&](Value value) {
    const PlanValue &found = graph.values[graph.valueNumbers.lookup(value)];
    return std::pair(found.shares.sums, found.shares.gathers);
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
  std::vector<Launches> launches(graph.values.size());
  auto getNumber = [&](Value value) {
    return graph.valueNumbers.lookup(value);
  };
  launches[getNumber(wide)].gathers = launches[getNumber(h)].gathers = 1;
  launches[getNumber(body.getArgument(2))].gathers = 1;
  launches[getNumber(dw)].sums = 2;
  starts.recount(launches);
  starts.setShares(graph);
  EXPECT_EQ(getShares(wide), Shares(1, 1. / 2));
  for (Value alone : {dv, dw, h})
    EXPECT_EQ(getShares(alone), Shares(1, 1));
  EXPECT_EQ(starts.getSaved(launches), 1);
}

} // namespace
