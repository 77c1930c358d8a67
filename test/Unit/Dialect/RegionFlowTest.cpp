// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The channels, counters and decisions of every op with regions.

#include "tpopt/Dialect/SPMD/RegionFlow.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

namespace {

class RegionFlowTest : public testing::Test {
protected:
  RegionFlowTest() {
    context.loadDialect<func::FuncDialect, SPMDDialect, TPDialect>();
  }

  void read(StringRef text) {
    module = parseSourceString<ModuleOp>(
        ("spmd.mesh @mesh <[\"x\"=2]>\n" + text).str(), &context);
    ASSERT_TRUE(module);
  }

  /// The n-th op of its kind, outer ones first.
  template <typename Op> Op find(unsigned n = 0) {
    Op found;
    module->walk<WalkOrder::PreOrder>([&](Op op) {
      if (n-- != 0)
        return WalkResult::advance();
      found = op;
      return WalkResult::interrupt();
    });
    return found;
  }

  /// Checks that the channels of `op` and the lookups say the same, and that a
  /// channel is one value unless it crosses a border.
  void checkLookups(RegionFlowOpInterface op) {
    unsigned numTargets = 0, numSources = 0;
    for (Channel channel : getChannels(op)) {
      EXPECT_EQ(channel.getOwner(), channel.getTargets().front());
      for (Value target : channel.getTargets()) {
        EXPECT_EQ(getChannel(target), channel);
        EXPECT_FALSE(isCounter(target));
        EXPECT_TRUE(op.isBorder() ||
                    target.getType() == channel.getOwner().getType());
        ++numTargets;
      }
      for (OpOperand *source : channel.getSources()) {
        EXPECT_EQ(getChannel(*source), channel);
        EXPECT_FALSE(isDecision(*source));
        EXPECT_TRUE(op.isBorder() ||
                    source->get().getType() == channel.getOwner().getType());
        ++numSources;
      }
    }
    // Nothing is left but counters and decisions.
    unsigned numValues = op->getNumResults(), numUses = op->getNumOperands();
    for (Region &region : op->getRegions()) {
      numValues += region.getNumArguments();
      numUses += region.front().getTerminator()->getNumOperands();
    }
    EXPECT_EQ(numTargets + (op.getCounter() ? 1 : 0), numValues);
    EXPECT_EQ(numSources + (op.getDecision() ? 1 : 0), numUses);
    if (Value counter = op.getCounter()) {
      EXPECT_TRUE(isCounter(counter));
      EXPECT_FALSE(getChannel(counter));
      EXPECT_TRUE(op.getTripCount());
    }
    if (OpOperand *decision = op.getDecision()) {
      EXPECT_TRUE(isDecision(*decision));
      EXPECT_FALSE(getChannel(*decision));
    }
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(RegionFlowTest, ForCarriesInTurns) {
  read(R"(
func.func @f(%x: tensor<4xf32>, %y: tensor<i32>) {
  %r:2 = tp.for 3 (%x, %y) {
  ^bb0(%i: tensor<i32>, %h: tensor<4xf32>, %n: tensor<i32>):
    %t = tp.tanh %h : tensor<4xf32>
    tp.yield %t, %i : tensor<4xf32>, tensor<i32>
  } : (tensor<4xf32>, tensor<i32>) -> (tensor<4xf32>, tensor<i32>)
  return
})");
  ForOp loop = find<ForOp>();
  RegionFlowOpInterface flow = loop;
  checkLookups(flow);
  EXPECT_TRUE(flow.isLoop());
  EXPECT_FALSE(flow.isBorder());
  EXPECT_EQ(flow.getTripCount(), 3);
  EXPECT_EQ(flow.getCounter(), loop.getBody().getArgument(0));
  EXPECT_EQ(flow.getDecision(), nullptr);
  SmallVector<Channel> channels = getChannels(flow);
  ASSERT_EQ(channels.size(), 2u);
  Operation *yield = find<YieldOp>();
  EXPECT_EQ(channels[1].getSources(),
            (SmallVector<OpOperand *>{&loop->getOpOperand(1),
                                      &yield->getOpOperand(1)}));
  EXPECT_EQ(
      channels[1].getTargets(),
      (SmallVector<Value>{loop->getResult(1), loop.getBody().getArgument(2)}));
}

TEST_F(RegionFlowTest, WhileCarriesThroughBothRegions) {
  read(R"(
func.func @f(%x: tensor<4xf32>, %p: tensor<i1>) {
  %r:2 = tp.while (%x, %p) cond {
  ^bb0(%a: tensor<4xf32>, %b: tensor<i1>):
    tp.yield %b : tensor<i1>
  } do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<i1>):
    tp.yield %a, %b : tensor<4xf32>, tensor<i1>
  } : (tensor<4xf32>, tensor<i1>) -> (tensor<4xf32>, tensor<i1>)
  return
})");
  WhileOp loop = find<WhileOp>();
  RegionFlowOpInterface flow = loop;
  checkLookups(flow);
  EXPECT_TRUE(flow.isLoop());
  EXPECT_FALSE(flow.getTripCount());
  EXPECT_FALSE(flow.getCounter());
  EXPECT_EQ(flow.getBranchIndex(), nullptr);
  EXPECT_EQ(flow.getCondition(), &loop.getCond());
  EXPECT_EQ(flow.getDecision(), &find<YieldOp>(0)->getOpOperand(0));
  // The first operand of the condition's yield is not that of the body's.
  SmallVector<Channel> channels = getChannels(flow);
  ASSERT_EQ(channels.size(), 2u);
  EXPECT_EQ(channels[0].getSources(),
            (SmallVector<OpOperand *>{&loop->getOpOperand(0),
                                      &find<YieldOp>(1)->getOpOperand(0)}));
  EXPECT_EQ(
      channels[0].getTargets(),
      (SmallVector<Value>{loop->getResult(0), loop.getCond().getArgument(0),
                          loop.getBody().getArgument(0)}));
}

TEST_F(RegionFlowTest, CaseJoinsBranches) {
  read(R"(
func.func @f(%i: tensor<i32>, %x: tensor<4xf32>, %y: tensor<4xf32>) {
  %r = tp.case %i {
    tp.yield %x : tensor<4xf32>
  }, {
    tp.yield %y : tensor<4xf32>
  } : (tensor<i32>) -> tensor<4xf32>
  return
})");
  CaseOp branch = find<CaseOp>();
  RegionFlowOpInterface flow = branch;
  checkLookups(flow);
  EXPECT_FALSE(flow.isLoop());
  EXPECT_EQ(flow.getTripCount(), 1);
  EXPECT_EQ(flow.getBranchIndex(), &branch->getOpOperand(0));
  EXPECT_EQ(flow.getCondition(), nullptr);
  EXPECT_EQ(flow.getDecision(), flow.getBranchIndex());
  SmallVector<Channel> channels = getChannels(flow);
  ASSERT_EQ(channels.size(), 1u);
  EXPECT_EQ(channels[0].getSources(),
            (SmallVector<OpOperand *>{&find<YieldOp>(0)->getOpOperand(0),
                                      &find<YieldOp>(1)->getOpOperand(0)}));
  EXPECT_EQ(channels[0].getTargets(), SmallVector<Value>{branch->getResult(0)});
}

TEST_F(RegionFlowTest, ManualEntersAndLeaves) {
  read(R"(
func.func @f(%x: tensor<4xf32>, %y: tensor<8xf32>) {
  %r = spmd.manual (%x, %y) in [<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out [<@mesh, [{"x"}]>] axes {"x"} {
  ^bb0(%a: tensor<2xf32>, %b: tensor<4xf32>):
    spmd.return %b : tensor<4xf32>
  } : (tensor<4xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
})");
  ManualOp manual = find<ManualOp>();
  RegionFlowOpInterface flow = manual;
  checkLookups(flow);
  EXPECT_FALSE(flow.isLoop());
  EXPECT_TRUE(flow.isBorder());
  EXPECT_EQ(flow.getTripCount(), 1);
  EXPECT_EQ(flow.getDecision(), nullptr);
  SmallVector<Channel> channels = getChannels(flow);
  ASSERT_EQ(channels.size(), 3u);
  EXPECT_EQ(channels[0].getSources(),
            SmallVector<OpOperand *>{&manual->getOpOperand(0)});
  EXPECT_EQ(channels[0].getTargets(),
            SmallVector<Value>{manual.getBody().getArgument(0)});
  EXPECT_EQ(channels[2].getSources(),
            SmallVector<OpOperand *>{&find<ReturnOp>()->getOpOperand(0)});
  EXPECT_EQ(channels[2].getTargets(), SmallVector<Value>{manual->getResult(0)});
}

TEST_F(RegionFlowTest, NestedOpsHaveChannelsOfTheirOwn) {
  read(R"(
func.func @f(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %r = tp.for 3 (%x) {
  ^bb0(%i: tensor<i32>, %h: tensor<4xf32>):
    %s = tp.case %p {
      tp.yield %h : tensor<4xf32>
    }, {
      %t = tp.for 5 (%h) {
      ^bb0(%j: tensor<i32>, %g: tensor<4xf32>):
        tp.yield %g : tensor<4xf32>
      } : (tensor<4xf32>) -> tensor<4xf32>
      tp.yield %t : tensor<4xf32>
    } : (tensor<i1>) -> tensor<4xf32>
    tp.yield %s : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
})");
  ForOp outer = find<ForOp>(0), inner = find<ForOp>(1);
  CaseOp branch = find<CaseOp>();
  for (Operation *op :
       {outer.getOperation(), inner.getOperation(), branch.getOperation()})
    checkLookups(cast<RegionFlowOpInterface>(op));
  // The branch's result is a source of the outer loop, and no target of it.
  Value result = branch->getResult(0);
  EXPECT_EQ(getChannel(result)->op, branch);
  EXPECT_EQ(getChannel(*result.use_begin())->op, outer);
  EXPECT_TRUE(isCounter(outer.getBody().getArgument(0)));
  EXPECT_TRUE(isCounter(inner.getBody().getArgument(0)));
}

TEST_F(RegionFlowTest, OthersHaveNone) {
  read(R"(
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tp.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
})");
  TanhOp tanh = find<TanhOp>();
  EXPECT_FALSE(getChannel(tanh.getResult()));
  EXPECT_FALSE(getChannel(tanh->getOperand(0)));
  EXPECT_FALSE(getChannel(tanh->getOpOperand(0)));
  EXPECT_FALSE(getChannel(find<func::ReturnOp>()->getOpOperand(0)));
  EXPECT_FALSE(isCounter(tanh->getOperand(0)));
  EXPECT_FALSE(isDecision(tanh->getOpOperand(0)));
  Block block;
  EXPECT_FALSE(getChannel(block.addArgument(tanh.getType(), tanh->getLoc())));
}

} // namespace
