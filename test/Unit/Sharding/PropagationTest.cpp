// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Propagation, item by item of the exam: matrix products, element-wise ops,
// priorities, reshapes, loops.

#include "ProgramNotation.h"

using namespace tp;
using namespace tp::test;

namespace {

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

TEST(Propagation, M1EachFactorCarriesItsAxis) {
  Program p("a2,b2");
  ValueId x = p.value({8, 8}, "[a,b]"), y = p.value({8, 8});
  ValueId t = p.map({x, y}), w = p.value({8, 16}), out = p.dot(t, w);
  p.run();
  EXPECT_EQ(p[x], "[a,b]");
  EXPECT_EQ(p[y], "[a?,b?]");
  EXPECT_EQ(p[t], "[a?,b?]");
  EXPECT_EQ(p[w], "[b?,?]");
  EXPECT_EQ(p[out], "[a?,?]");
}

TEST(Propagation, M2AResultSaysNothingAboutTheContraction) {
  Program p("a2,b2");
  ValueId x = p.value({12, 20}), w = p.value({20, 28});
  p.dot(x, w, "[a,b]");
  p.run();
  EXPECT_EQ(p[x], "[a?,?]");
  EXPECT_EQ(p[w], "[?,b?]");
}

TEST(Propagation, M3AnAxisInUseInOneTensorStillReachesTheOther) {
  Program p("a2");
  ValueId x = p.value({256, 512}, "[a?,?]"), w = p.value({128, 512});
  ValueId wt = p.op("ij->ji", w, {512, 128}, OpClass::DataMovement);
  ValueId out = p.dot(x, wt, "[?,a?]");
  p.run();
  EXPECT_EQ(p[w], "[a?,?]");
  EXPECT_EQ(p[wt], "[?,a?]");
  EXPECT_EQ(p[out], "[?,a?]");
  EXPECT_EQ(p.losses(out), "0 a < a AxisInUse");
}

TEST(Propagation, M4TheLargerSourceWins) {
  Program p("a2,b2,c2");
  ValueId x = p.value({8, 4}, "[(a,b),?]"), w = p.value({4, 16}, "[?,(a,c)]");
  ValueId out = p.dot(x, w);
  p.run();
  EXPECT_EQ(p[out], "[?,(a,c)?]");
  EXPECT_EQ(p.losses(out), "0 a < a LargerSource");
}

TEST(Propagation, M5AClosedResultBlocksRowsButNotTheBatch) {
  Program p("a2,b2");
  ValueId x = p.value({2, 8, 4}, "[a,b,-]"), w = p.value({2, 4, 16});
  ValueId out =
      p.op("bik,bkj->bij", {x, w}, {2, 8, 16}, OpClass::Other, "[(a,b),-,-]");
  p.run();
  EXPECT_EQ(p[x], "[a,b,-]");
  EXPECT_EQ(p[w], "[(a,b)?,?,?]");
  EXPECT_EQ(p[out], "[(a,b),-,-]");
  EXPECT_EQ(p.losses(out), "1 b Closed");
}

TEST(Propagation, M6PassThroughFactorsGoBeforeReductions) {
  Program p("a4,b2");
  ValueId x = p.value({32, 1024}), w = p.value({1024, 16}, "[a?,b?]");
  ValueId out = p.dot(x, w, "[a?,b?]");
  p.run();
  EXPECT_EQ(p[x], "[a?,?]");
  EXPECT_EQ(p[out], "[a?,b?]");
  EXPECT_EQ(p.losses(x), "1 a < a Priority");
}

TEST(Propagation, M7AValueUsedOnBothSidesKeepsItsFirstSharding) {
  Program p("a2");
  ValueId x = p.value({8, 8}, "[a?,?]"), w = p.value({8, 8});
  ValueId d1 = p.dot(x, w), d2 = p.dot(d1, d1, "[?,a?]");
  p.run();
  EXPECT_EQ(p[d1], "[a?,?]");
  EXPECT_EQ(p[d2], "[?,a?]");
}

TEST(Propagation, AValueReadTwiceByOneOpHearsItsFirstUseFirst) {
  // Rows and columns of x . xT are both rows of x.
  Program p("a2,b2");
  ValueId x = p.value({8, 4});
  p.op("ik,jk->ij", {x, x}, {8, 8}, OpClass::Other, "[a,b]");
  p.run();
  EXPECT_EQ(p[x], "[a?,?]");
  EXPECT_EQ(p.losses(x), "0 b < a DimTaken");
}

TEST(Propagation, M8TheLargeOperandDecidesForTheBroadcast) {
  Program p("a2");
  ValueId bias = p.value({4}), w = p.value({1024, 1024}, "[a?,?]");
  ValueId rows = p.op("i->ij", bias, {4, 1024}, OpClass::Broadcast);
  ValueId out = p.dot(rows, w);
  p.run();
  EXPECT_EQ(p[rows], "[?,a?]");
  EXPECT_EQ(p[bias], "[?]");
  EXPECT_EQ(p[out], "[?,?]");
}

TEST(Propagation, ABroadcastSpreadsItsOperandLastOfAll) {
  // x . w could be cut along a by the broadcast or by w: w comes first.
  Program p("a2");
  ValueId bias = p.value({64}, "[a?]"), w = p.value({8, 8}, "[?,a?]");
  ValueId rows = p.op("i->ij", bias, {64, 8}, OpClass::Broadcast);
  ValueId out = p.dot(rows, w);
  p.run();
  EXPECT_EQ(p[out], "[?,a?]");
  EXPECT_EQ(p[rows], "[a?,?]");
}

//===----------------------------------------------------------------------===//
// Element-wise ops
//===----------------------------------------------------------------------===//

TEST(Propagation, E1ACompatiblePrefixIsExtended) {
  Program p("a2,b2");
  ValueId x = p.value({8, 8}, "[(b,a),-]"), y = p.value({8, 8}, "[b?,-]");
  ValueId out = p.map({x, y});
  p.run();
  EXPECT_EQ(p[y], "[(b,a)?,-]");
  EXPECT_EQ(p[out], "[(b,a)?,?]");
}

TEST(Propagation, E2OnlyTheCommonPrefixIsAgreed) {
  Program p("a2,b2,c2");
  ValueId x = p.value({8}, "[(b,a)]"), y = p.value({8}, "[(b,c)]");
  ValueId z = p.value({8}, "[(a,b)]");
  ValueId xy = p.map({x, y}), xz = p.map({x, z});
  p.run();
  EXPECT_EQ(p[xy], "[b?]");
  EXPECT_EQ(p[xz], "[?]");
  EXPECT_EQ(p.losses(xy), "0 a < c SourcesDisagree; 0 c < a SourcesDisagree");
}

TEST(Propagation, AThirdOpinionDoesNotSettleADisagreement) {
  Program p("a2,b2,c2,d2");
  ValueId x = p.value({8}, "[(b,a)]"), y = p.value({8}, "[(b,c)]");
  ValueId z = p.value({8}, "[(b,d)]");
  ValueId out = p.map({x, y, z});
  p.run();
  EXPECT_EQ(p[out], "[b?]");
}

TEST(Propagation, E3OfEqualOperandsTheFirstWins) {
  Program p("a4");
  ValueId x = p.value({32, 32}, "[a,?]"), y = p.value({32, 32}, "[?,a]");
  ValueId out = p.map({x, y});
  p.run();
  EXPECT_EQ(p[x], "[a,?]");
  EXPECT_EQ(p[y], "[?,a]");
  EXPECT_EQ(p[out], "[a?,?]");
  EXPECT_EQ(p.losses(out), "1 a < a OperandOrder");
}

TEST(Propagation, E4TheMoreShardedFactorWins) {
  Program p("a2,b4");
  ValueId x = p.value({16, 32}, "[-,a]"), y = p.value({16, 32}, "[(b,a),-]");
  ValueId out = p.map({x, y});
  p.run();
  EXPECT_EQ(p[out], "[(b,a)?,?]");
  EXPECT_EQ(p.losses(out), "1 a < a MoreSharded");
}

TEST(Propagation, E5AValueWithTwoUsesIsReshardedOnceNotForEachUse) {
  Program p("a4");
  ValueId x = p.value({32, 32}, "[a,-]"), y = p.value({32, 32});
  ValueId s = p.map(x), add1 = p.map({s, y}), add2 = p.map({s, y});
  p.ret(p.map(add1), "[-,a]");
  p.ret(p.map(add2), "[-,a]");
  p.run();
  EXPECT_EQ(p[s], "[a?,?]");
  EXPECT_EQ(p[add1], "[?,a?]");
  EXPECT_EQ(p[add2], "[?,a?]");
}

TEST(Propagation, E6AndE8ClosedDimensionsStayAndSayWhy) {
  Program p("x4,y2");
  ValueId x = p.value({64, 16}, "[x,-]"), y = p.value({64, 16}, "[y,-]");
  ValueId out = p.map({x, y}, "[x,-]");
  ValueId z = p.value({16, 24}, "[x,-]"), neg = p.map(z, "[y,-]");
  p.run();
  EXPECT_EQ(p[y], "[y,-]");
  EXPECT_EQ(p[out], "[x,-]");
  EXPECT_EQ(p[neg], "[y,-]");
  EXPECT_EQ(p.losses(neg), "0 x < y DimTaken");
  EXPECT_EQ(p.losses(z), "0 y < x DimTaken");
}

TEST(Propagation, E7ADimensionOfOneFactorMayBeUneven) {
  Program p("a3");
  ValueId x = p.value({2, 4}, "[-,a]"), y = p.value({2, 4});
  ValueId out = p.map({x, y});
  p.run();
  EXPECT_EQ(p[y], "[?,a?]");
  EXPECT_EQ(p[out], "[?,a?]");
}

TEST(Propagation, OperandsOfElementwiseOpsListenToTheResultOnly) {
  Program p("a2");
  ValueId x = p.value({8}, "[a]"), y = p.value({8});
  p.map({x, y}, "[-]");
  p.run();
  EXPECT_EQ(p[y], "[?]");
}

TEST(Propagation, TransposesOnTheWayDoNotMakeAShardingLate) {
  for (int transposes : {0, 2, 4}) {
    Program p("a2");
    ValueId w = p.value({8, 8}), first = p.dot(p.value({8, 8}, "[a,-]"), w);
    ValueId second = p.dot(p.value({8, 8}), p.value({8, 8}, "[-,a]"));
    for (int i = 0; i < transposes; ++i)
      first = p.op("ij->ji", first, {8, 8}, OpClass::DataMovement);
    ValueId sum = p.map({first, second});
    p.run();
    EXPECT_EQ(p[sum], "[a?,?]") << transposes << " transposes";
  }
}

//===----------------------------------------------------------------------===//
// Priorities
//===----------------------------------------------------------------------===//

TEST(Propagation, P1BatchBeforeWeights) {
  Program p("a4");
  ValueId x = p.value({256, 64}, "[a p0,?]"), y = p.value({256, 64});
  ValueId w = p.value({64, 64}, "[?,a p1]");
  ValueId out = p.dot(p.map({x, y}), w);
  p.run();
  EXPECT_EQ(p[y], "[a?,?]");
  EXPECT_EQ(p[out], "[a?,?]");
  EXPECT_EQ(p[w], "[?,a p1]");
  EXPECT_EQ(p.losses(out), "1 a < a Priority");
}

TEST(Propagation, P2TheLowerNumberGoesFirstAndThenBlocks) {
  Program p("a2,b2,c2");
  ValueId x = p.value({16, 16}, "[a,b p4]"), y = p.value({16, 16});
  ValueId sum = p.map({x, y}), q = p.map({sum, y}, "[?,c? p1]");
  p.run();
  EXPECT_EQ(p[x], "[a,b p4]");
  EXPECT_EQ(p[y], "[a?,c?]");
  EXPECT_EQ(p[sum], "[a?,c?]");
  EXPECT_EQ(p[q], "[a?,c? p1]");
  EXPECT_EQ(p.losses(sum), "1 b < c Priority");
}

TEST(Propagation, P3PrioritiesArePerDimension) {
  Program p("a2,b2,c2");
  ValueId x = p.value({16, 16}, "[a? p1,b p1]"), y = p.value({16, 16});
  ValueId sum = p.map({x, y}), q = p.map({sum, y}, "[c p0,?]");
  p.run();
  EXPECT_EQ(p[x], "[a? p1,b p1]");
  EXPECT_EQ(p[y], "[c?,b?]");
  EXPECT_EQ(p[sum], "[c?,b?]");
  EXPECT_EQ(p[q], "[c p0,b?]");
}

TEST(Propagation, AHiddenAxisIsNotUsedForAnythingElse) {
  // In round 0 a could come to dim 0 of x, which keeps it for dim 1.
  Program p("a2");
  ValueId x = p.value({8, 8}, "[?,a p1]"), y = p.value({8, 8}, "[a,-]");
  ValueId out = p.map({x, y});
  p.run();
  EXPECT_EQ(p[x], "[?,a p1]");
  EXPECT_EQ(p[out], "[a?,?]");
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

std::string reshaped(llvm::StringRef mesh, const Shape &from,
                     llvm::StringRef sharding, const Shape &to) {
  Program p(mesh);
  ValueId out = p.reshape(p.value(from, sharding), to);
  p.run();
  return p[out];
}

TEST(Propagation, R1TheMinorDimFollowsWhenTheMajorIsFull) {
  EXPECT_EQ(reshaped("a2,b2", {2, 4}, "[a,-]", {8}), "[a?]");
  EXPECT_EQ(reshaped("a2,b2", {2, 4}, "[a,b]", {8}), "[(a,b)?]");
  EXPECT_EQ(reshaped("a2,b2", {4, 4}, "[a,b]", {16}), "[a?]");
}

TEST(Propagation, R2MajorAxesFillTheMajorDimFirst) {
  EXPECT_EQ(reshaped("a2,b2", {8}, "[(b,a)]", {2, 4}), "[b?,a?]");
  EXPECT_EQ(reshaped("a2,b2", {16}, "[(b,a)]", {4, 4}), "[(b,a)?,?]");
}

TEST(Propagation, R3AnAxisMayBeCutIntoSubAxes) {
  EXPECT_EQ(reshaped("a4", {8}, "[a]", {2, 4}), "[a:(1)2?,a:(2)2?]");
  EXPECT_EQ(reshaped("a16", {32}, "[a]", {2, 4, 4}),
            "[a:(1)2?,a:(2)4?,a:(8)2?]");
  EXPECT_EQ(reshaped("a4", {2, 4}, "[a:(1)2,a:(2)2]", {8}), "[a?]");
}

TEST(Propagation, R4SplitAndMergeInOneReshape) {
  EXPECT_EQ(reshaped("a4,b2,c2", {8, 4}, "[(c,a),b]", {2, 16}), "[c?,(a,b)?]");
}

TEST(Propagation, R5WhatNeitherDividesNorLeavesBlocksWholeStays) {
  EXPECT_EQ(reshaped("a3", {8}, "[a]", {2, 4}), "[?,?]");
}

TEST(Propagation, R7HeadsOfARowOfFeatures) {
  Program p("dp2,tp4");
  ValueId x = p.value({2, 128, 1024}, "[dp,-,tp]");
  ValueId heads = p.reshape(x, {2, 128, 16, 64});
  ValueId out =
      p.op("bshd->bhsd", heads, {2, 16, 128, 64}, OpClass::DataMovement);
  p.run();
  EXPECT_EQ(p[heads], "[dp?,?,tp?,?]");
  EXPECT_EQ(p[out], "[dp?,tp?,?,?]");
}

TEST(Propagation, T14FewKeyValueHeadsTakeASubAxis) {
  // 32 query heads in groups of 4 that share a key-value head, on 16 devices.
  Program p("tp16");
  ValueId x = p.value({16, 64}, "[-,-]");
  ValueId wq = p.value({64, 256}, "[-,tp]"), wk = p.value({64, 64});
  ValueId wo = p.value({256, 64}, "[tp,-]");
  ValueId q = p.reshape(p.dot(x, wq), {16, 8, 4, 8});
  ValueId k = p.reshape(p.dot(x, wk), {16, 8, 8});
  ValueId repeated = p.op("tkd->tkgd", k, {16, 8, 4, 8}, OpClass::Broadcast);
  ValueId scores =
      p.op("skgd,tkgd->kgst", {q, repeated}, {8, 4, 16, 16}, OpClass::Other);
  ValueId context = p.op("kgst,tkgd->skgd", {scores, repeated}, {16, 8, 4, 8});
  ValueId out = p.dot(p.reshape(context, {16, 256}), wo);
  p.run();
  EXPECT_EQ(p[q], "[?,tp:(1)8?,tp:(8)2?,?]");
  EXPECT_EQ(p[wk], "[?,tp:(1)8?]");
  EXPECT_EQ(p[k], "[?,tp:(1)8?,?]");
  EXPECT_EQ(p[repeated], "[?,tp:(1)8?,tp:(8)2?,?]");
  EXPECT_EQ(p[scores], "[tp:(1)8?,tp:(8)2?,?,?]");
  EXPECT_EQ(p[context], "[?,tp:(1)8?,tp:(8)2?,?]");
  EXPECT_EQ(p[out], "[?,?]");
}

//===----------------------------------------------------------------------===//
// Data flow, groups, barriers
//===----------------------------------------------------------------------===//

struct Loop {
  ValueId init, argument, squared, yield, result;

  Loop(Program &p, llvm::StringRef inBody = "") {
    init = p.map(p.value({32, 96}));
    argument = p.value({32, 96});
    squared = p.map({argument, argument}, inBody);
    yield = p.map(squared);
    result = p.value({32, 96});
    EXPECT_FALSE(p.graph.addDataFlow({init, yield}, {argument, result}));
  }
};

TEST(Propagation, L1AUseAfterALoopReachesItsStart) {
  Program p("a2,b2");
  Loop loop(p);
  p.ret(loop.result, "[a,b]");
  p.run();
  for (ValueId value :
       {loop.init, loop.argument, loop.squared, loop.yield, loop.result})
    EXPECT_EQ(p[value], "[a?,b?]");
}

TEST(Propagation, L1AShardingInsideTheBodyReachesTheStart) {
  Program p("a2,b2");
  Loop loop(p, "[a,b]");
  p.run();
  for (ValueId value : {loop.init, loop.argument, loop.yield, loop.result})
    EXPECT_EQ(p[value], "[a?,b?]");
}

TEST(Propagation, L2BranchesAgreeOnTheirCommonPrefix) {
  Program p("a2,b2,c2");
  ValueId yes = p.value({8}, "[(a,b)]"), no = p.value({8}, "[(a,c)]");
  ValueId result = p.value({8});
  ASSERT_FALSE(p.graph.addDataFlow({yes, no}, result));
  p.run();
  EXPECT_EQ(p[result], "[a?]");
  EXPECT_EQ(p[yes], "[(a,b)]");
  EXPECT_EQ(p[no], "[(a,c)]");
}

TEST(Propagation, AShardingGroupMovesTogether) {
  Program p("a2,b2");
  ValueId x = p.value({8, 8}, "[a,?]"), y = p.map(x);
  ValueId z = p.value({8, 8}), u = p.map(z);
  ASSERT_FALSE(p.graph.addShardingGroup({y, z}));
  p.run();
  EXPECT_EQ(p[z], "[a?,?]");
  EXPECT_EQ(p[u], "[a?,?]");
  // The way leads over the group: u <- z, y <- x.
  AxisRef a = AxisRef::full(p.mesh, 0);
  auto path = p.provenance.trace(p.graph, u, a);
  ASSERT_EQ(path.size(), 2u);
  EXPECT_EQ(path[0].source, z);
  EXPECT_EQ(path[1].source, x);
}

TEST(Propagation, AGroupWithTwoAnnotationsIsAnError) {
  Program p("a2,b2");
  ValueId x = p.value({8}, "[a]"), y = p.value({8}, "[b]"), z = p.value({8});
  auto error = p.graph.addShardingGroup({x, z, y});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::SharedShardingMismatch);
  EXPECT_EQ(error->value, y);
  EXPECT_NE(p.graph.getNode(x), p.graph.getNode(z)) << "nothing was changed";
  EXPECT_TRUE(p.graph.addDataFlow(x, {y, p.value({8, 8})}));
}

TEST(Propagation, ABarrierLetsShardingsThroughOneWay) {
  for (Direction allowed : {Direction::None, Direction::Forward,
                            Direction::Backward, Direction::Both}) {
    Program p("a2,b2");
    ValueId x = p.value({8, 8}, "[a?,?]");
    ValueId y = p.map(x, "[?,b?]", allowed);
    p.run();
    bool forward = allowed == Direction::Forward || allowed == Direction::Both;
    bool backward =
        allowed == Direction::Backward || allowed == Direction::Both;
    EXPECT_EQ(p[y], forward ? "[a?,b?]" : "[?,b?]");
    EXPECT_EQ(p[x], backward ? "[a?,b?]" : "[a?,?]");
    EXPECT_EQ(p.losses(y), forward ? "" : "0 a Barrier");
    EXPECT_EQ(p.losses(x), backward ? "" : "1 b Barrier");
  }
}

//===----------------------------------------------------------------------===//
// The rest of the contract
//===----------------------------------------------------------------------===//

TEST(Propagation, AWholeFactorDoesNotStopPropagation) {
  Program p("a2");
  ValueId x = p.value({8, 16}, "[-,a]");
  ValueId out = p.op("id!->id!", x, {8, 16});
  p.run();
  EXPECT_EQ(p[out], "[?,a?]");
}

TEST(Propagation, ReplicatedAndUnreducedAxesAreNotUsed) {
  Program p("a2,b2,c2");
  ValueId x = p.value({8}, "[(a,b)?]");
  TensorSharding noB = parseSharding(p.mesh, "[?]"), partialA = noB;
  noB.replicated = test::axes(p.mesh, "b");
  partialA.unreduced = test::axes(p.mesh, "a");
  ValueId y = p.map(x), z = p.map(x);
  Program q("a2,b2,c2");
  ValueId qx = q.value({8}, "[(a,b)?]");
  ValueId qy = q.graph.addValue({8}, 32, noB);
  ValueId qz = q.graph.addValue({8}, 32, partialA);
  q.graph.addOp(&p.rules[0], qx, qy, OpClass::Elementwise);
  q.graph.addOp(&p.rules[1], qx, qz, OpClass::Elementwise);
  p.run();
  q.run();
  EXPECT_EQ(p[y], "[(a,b)?]");
  EXPECT_EQ(p[z], "[(a,b)?]");
  EXPECT_EQ(q[qy], "[a?]");
  EXPECT_EQ(q.losses(qy), "0 b < b Replicated");
  EXPECT_EQ(q[qz], "[?]");
  EXPECT_EQ(q.losses(qz), "0 a < a AxisInUse");
  EXPECT_EQ(q.graph.getSharding(qz).unreduced, partialA.unreduced);
}

TEST(Propagation, DynamicSlicesGoForwardFirst) {
  // Cut by the stacked weights, not by what the layer would like.
  Program p("a2");
  ValueId stack = p.value({12, 8, 8}, "[-,a?,?]"), index = p.value({});
  ValueId slice =
      p.op("lio,->1io", {stack, index}, {1, 8, 8}, OpClass::DynamicSlice);
  ValueId w = p.reshape(slice, {8, 8});
  ValueId out = p.dot(p.value({8, 8}), w);
  p.run();
  EXPECT_EQ(p[w], "[a?,?]");
  EXPECT_EQ(p[out], "[?,?]");
}

TEST(Propagation, BadInputIsAnErrorThatSaysWhere) {
  Program p("a2");
  ValueId x = p.value({8});
  TensorSharding bad = TensorSharding::replicate(1);
  bad.dims[0].axes.push_back({7, 1, 2});
  ValueId y = p.graph.addValue({8}, 32, bad);
  auto error = propagate(p.graph, p.mesh, p.provenance);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::UnknownAxis);
  EXPECT_EQ(error->value, y);

  Program q("a2");
  x = q.value({8, 8}, "[a,?]");
  y = q.map(x);
  q.graph.addOp(&q.rules[0], {x, y}, x, OpClass::Other);
  error = propagate(q.graph, q.mesh, q.provenance);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::BadRuleUse);
  EXPECT_EQ(error->op, 1u);
  EXPECT_EQ(q[y], "[?,?]");

  Program r("a2");
  x = r.value({8, 8}, "[a,a]");
  error = propagate(r.graph, r.mesh, r.provenance);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::AxisUsedTwice);

  Program s("a2");
  s.graph.addValue({8, 8}, 32, TensorSharding::replicate(1));
  error = propagate(s.graph, s.mesh, s.provenance);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::RankMismatch);

  Program t("a2");
  x = t.value({8, 8});
  t.map(x);
  t.graph.addOp(&t.rules[0], x, ValueId(99), OpClass::Elementwise);
  error = propagate(t.graph, t.mesh, t.provenance);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::BadRuleUse);
}

} // namespace
