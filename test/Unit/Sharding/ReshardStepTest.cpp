// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The law of single steps: what makes them, undoes them, and what they reject.

#include "Enumerate.h"
#include "Notation.h"

#include "tpopt/Sharding/Reshard.h"

using namespace tp;
using namespace tp::test;

namespace {

std::string makeText(const char *meshText, CollectiveKind kind,
                     const char *from, const char *to,
                     llvm::ArrayRef<int64_t> shape) {
  Mesh m = mesh(meshText);
  auto step = makeStep(m, kind, sharding(m, from), sharding(m, to), shape);
  if (!step)
    return llvm::toString(step.takeError());
  std::string text;
  llvm::raw_string_ostream os(text);
  step->print(os, m);
  return text;
}

// The errors that a step can cause, one for each rule.
TEST(ReshardStep, SaysWhyThereIsNone) {
  using K = CollectiveKind;
  EXPECT_EQ(makeText("x4", K::AllSlice, "[-,-]", "[x,-]", {8, 8}), "S{x}");
  EXPECT_EQ(makeText("x4", K::AllSlice, "[-,-]", "[-,-]", {8, 8}),
            "the step has no axes");
  EXPECT_EQ(makeText("x4", K::AllSlice, "[x,-]", "[-,x]", {8, 8}),
            "axis \"x\" is already used by this sharding");
  EXPECT_EQ(
      makeText("x6", K::AllSlice, "[x:(1)2,-]", "[x:(1)2,x:(2)3]", {6, 6}),
      "S{x:(2)3}");
  EXPECT_EQ(makeText("x4", K::AllSlice, "[x:(1)2]", "[x]", {10}),
            "dimension 0 of size 10 has no block boundaries in common "
            "between 2 and 4 blocks");
  EXPECT_EQ(makeText("x4", K::AllGather, "[x]", "[x:(1)2]", {10}),
            "dimension 0 of size 10 has no block boundaries in common "
            "between 2 and 4 blocks");
  EXPECT_EQ(makeText("x4", K::AllGather, "[x]", "[x:(2)2]", {8}),
            "no all_gather turns the sharding [{\"x\"}] into [{\"x\":(2)2}]");
  EXPECT_EQ(makeText("x4", K::AllGather, "[x] ", "[x,-]", {8}),
            "the shardings differ in rank");
  EXPECT_EQ(makeText("x4", K::AllGather, "[x]", "[-]", {8, 8}),
            "the sharding has 1 dimensions, but the tensor has 2");
  EXPECT_EQ(makeText("x4,y2", K::ReduceScatter, "[-] +x", "[y]", {8}),
            "the value is not unreduced along {\"y\"}");
  EXPECT_EQ(makeText("x4,y2", K::AllReduce, "[-] +x", "[-] +y", {8}),
            "the step has no axes");
  EXPECT_EQ(makeText("x4,y2", K::AllReduce, "[y] +x", "[y]", {8}), "AR{x} V=4");
  EXPECT_EQ(makeText("x4,y2", K::ToPartial, "[-] +x", "[-] max+x,y", {8}),
            "the value is a partial sum and cannot be a partial max as well");
  EXPECT_EQ(makeText("x4,y2", K::ToPartial, "[x]", "[y]", {8}),
            "the step has no axes");
  EXPECT_EQ(makeText("x4,y2", K::AllToAll, "[x,y]", "[y,x]", {8, 8}),
            "an all_to_all cannot both remove axes from dimension 0 and add "
            "axes to it");
  EXPECT_EQ(makeText("x4,y2", K::CollectivePermute, "[x,y]", "[y,x]", {8, 8}),
            "the step changes the number of blocks of dimension 0 from 4 to 2");
  EXPECT_EQ(makeText("x2,y2", K::CollectivePermute, "[x]", "[y] +x", {8}),
            "the step changes how many devices hold addends, or the kind of "
            "their reduction");
  EXPECT_EQ(makeText("x2,y2", K::CollectivePermute, "[x]", "[x]", {8}),
            "the step moves nothing");
}

/// A correct all-to-all from [x,-] to [-,x] of 8x8 on x4,y2.
struct Exchange : testing::Test {
  Mesh m = mesh("x4,y2");
  TensorSharding in = sharding(m, "[x,-]");
  llvm::SmallVector<int64_t> shape = {8, 8};
  ReshardStep step = llvm::cantFail(
      makeStep(m, CollectiveKind::AllToAll, in, sharding(m, "[-,x]"), shape));
};

// Whatever a step says about itself is checked.
TEST_F(Exchange, VerifiesEveryPart) {
  EXPECT_EQ(verifyStep(m, in, step, shape), std::nullopt);
  ReshardStep wrong = step;
  wrong.payload = 15;
  EXPECT_EQ(verifyStep(m, in, wrong, shape),
            "the payload of the step is 16 elements, not 15");
  wrong = step;
  wrong.axes = axes(m, "x,y");
  EXPECT_EQ(verifyStep(m, in, wrong, shape),
            "the axes of the step are {\"x\"}, not {\"x\", \"y\"}");
  wrong = step;
  wrong.result = sharding(m, "[-,y]");
  EXPECT_EQ(
      verifyStep(m, in, wrong, shape),
      "the step results in the sharding [{}, {\"x\"}], not [{}, {\"y\"}]");
}

// Steps as a user may write them: no part of one is trusted.
TEST_F(Exchange, RejectsNonsense) {
  ReshardStep wrong = step;
  wrong.moves[0].to = 7;
  EXPECT_EQ(verifyStep(m, in, wrong, shape),
            "the step moves an axis between dimensions 0 and 7 of a "
            "tensor of rank 2");
  wrong = step;
  wrong.moves[0].axis = {0, 1, 3};
  EXPECT_EQ(verifyStep(m, in, wrong, shape),
            "sub-axis \"x\":(1)3 does not divide its axis");
  wrong = step;
  wrong.moves[0].axis = {0, 0, 0};
  EXPECT_EQ(verifyStep(m, in, wrong, shape),
            "sub-axis \"x\":(0)0 does not divide its axis");
  wrong = step;
  wrong.moves.push_back(wrong.moves[0]);
  EXPECT_EQ(verifyStep(m, in, wrong, shape), "axis \"x\" is used twice");
  wrong = step;
  EXPECT_EQ(verifyStep(m, sharding(m, "[(x,y),-]"), wrong, shape),
            "dimension 0 must end with the axes {\"x\"} in some order");
  wrong.kind = CollectiveKind::AllGather;
  EXPECT_EQ(verifyStep(m, in, wrong, shape),
            "the step lists axes for 0 dimensions of a tensor of rank 2");
  wrong.dimAxes = {{}, axes(m, "x")};
  EXPECT_EQ(verifyStep(m, in, wrong, shape),
            "dimension 1 must end with the axes {\"x\"}");
  wrong.kind = CollectiveKind::ToPartial;
  wrong.axes = axes(m, "y");
  EXPECT_EQ(verifyStep(m, in, wrong, shape),
            "the axes of the step {\"y\"} must include every axis that the "
            "step removes from a dimension");
  wrong.kind = CollectiveKind::CollectivePermute;
  wrong.result.dims[0].axes = axes(m, "y,y");
  EXPECT_EQ(verifyStep(m, in, wrong, shape),
            "axis \"y\" is used twice in one sharding");
}

// Sub-axes of one step must be parts of one factorisation too.
TEST(ReshardStep, RejectsPartsThatDoNotFit) {
  Mesh m = mesh("x6");
  ReshardStep step;
  step.kind = CollectiveKind::AllSlice;
  step.dimAxes = {axes(m, "x:(1)2"), axes(m, "x:(3)2")};
  EXPECT_EQ(verifyStep(m, sharding(m, "[-,-]"), step, {6, 6}),
            "sub-axes \"x\":(1)2 and \"x\":(3)2 cannot be used together: no "
            "factorization of the axis contains both");
  step.dimAxes = {axes(m, "x:(3)2"), {}};
  EXPECT_EQ(verifyStep(m, sharding(m, "[-,x:(1)2]"), step, {6, 6}),
            "sub-axes \"x\":(1)2 and \"x\":(3)2 cannot be used together: no "
            "factorization of the axis contains both");
}

// An axis that arrives in one piece may come from two dimensions.
TEST(ReshardStep, MovesTellTheirSources) {
  Mesh m = mesh("x4,y2");
  ReshardStep step = llvm::cantFail(
      makeStep(m, CollectiveKind::AllToAll, sharding(m, "[x:(1)2,x:(2)2,-]"),
               sharding(m, "[-,-,x]"), {8, 8, 8}));
  ASSERT_EQ(step.moves.size(), 2u);
  EXPECT_EQ(step.moves[0], (AxisMove{axis(m, "x:(1)2"), 0, 2}));
  EXPECT_EQ(step.moves[1], (AxisMove{axis(m, "x:(2)2"), 1, 2}));
  EXPECT_EQ(step.axes, axes(m, "x"));
}

// For all pairs of shardings and all kinds: a step that can be made leads where
// it should, by applyStep() as by its result.
TEST(ReshardStep, MakeAndApplyAgree) {
  unsigned made = 0;
  for (const char *text : {"x4,y2", "x2,y3"}) {
    Mesh m = mesh(text);
    AxisList digits = getPrimeDigits(m);
    std::vector<TensorSharding> all;
    for (const DigitLayout &layout : getAllLayouts(digits.size(), 2, true))
      all.push_back(toSharding(layout, digits));
    for (const TensorSharding &in : all)
      for (const TensorSharding &out : all)
        for (unsigned kind = 0;
             kind <= unsigned(CollectiveKind::CollectivePermute); ++kind) {
          auto step = makeStep(m, CollectiveKind(kind), in, out, {12, 10});
          if (!step) {
            llvm::consumeError(step.takeError());
            continue;
          }
          ++made;
          EXPECT_EQ(verifyStep(m, in, *step, {12, 10}), std::nullopt);
          auto result = applyStep(m, in, *step, {12, 10});
          ASSERT_TRUE(bool(result));
          EXPECT_EQ(*result, out);
        }
  }
  EXPECT_GT(made, 1000u);
}

// A permutation sends every buffer once, to a device that needs this block, and
// changes coordinates along its axes only, and along each of them.
TEST(ReshardStep, PermuteSources) {
  unsigned checked = 0;
  for (const char *text : {"x4,y2", "x2,y3", "x6,y2", "x8", "x2,y2,z2"}) {
    Mesh m = mesh(text);
    AxisList digits = getPrimeDigits(m);
    std::vector<TensorSharding> all;
    for (const DigitLayout &layout : getAllLayouts(digits.size(), 2, true))
      all.push_back(toSharding(layout, digits));
    for (const TensorSharding &in : all)
      for (const TensorSharding &out : all) {
        auto step =
            makeStep(m, CollectiveKind::CollectivePermute, in, out, {12, 10});
        if (!step) {
          llvm::consumeError(step.takeError());
          continue;
        }
        ++checked;
        auto sources = getPermuteSources(m, in, out);
        std::vector<bool> sent(sources.size()), changed(digits.size());
        for (auto [device, source] : llvm::enumerate(sources)) {
          EXPECT_FALSE(sent[source]);
          sent[source] = true;
          for (unsigned dim = 0; dim < 2; ++dim)
            EXPECT_EQ(getPosition(m, in.dims[dim].axes, source),
                      getPosition(m, out.dims[dim].axes, device));
          for (unsigned i = 0; i < digits.size(); ++i)
            changed[i] = changed[i] || getPosition(m, digits[i], source) !=
                                           getPosition(m, digits[i], device);
        }
        for (unsigned i = 0; i < digits.size(); ++i)
          EXPECT_EQ(changed[i], overlap(step->axes, digits[i]))
              << in.str(m) << " to " << out.str(m);
      }
  }
  EXPECT_EQ(checked, 1372u);
}

// An axis of 6 read as 2x3 before and as 3x2 after counts as changed as a
// whole.
TEST(ReshardStep, PermutesPartsThatDoNotFit) {
  Mesh m = mesh("x6,y2");
  TensorSharding in = sharding(m, "[(y,x:(2)3),-]");
  TensorSharding out = sharding(m, "[x,-]");
  for (auto [a, b] : {std::pair(in, out), std::pair(out, in)}) {
    auto step = llvm::cantFail(
        makeStep(m, CollectiveKind::CollectivePermute, a, b, {12, 10}));
    std::vector<bool> sent(12);
    for (auto [device, source] : llvm::enumerate(getPermuteSources(m, a, b))) {
      EXPECT_FALSE(sent[source]);
      sent[source] = true;
      EXPECT_EQ(getPosition(m, a.dims[0].axes, source),
                getPosition(m, b.dims[0].axes, device));
    }
  }
  in = sharding(m, "[x:(1)2,x:(2)3]");
  out = sharding(m, "[(y),x:(1)3]");
  auto step = llvm::cantFail(
      makeStep(m, CollectiveKind::CollectivePermute, in, out, {12, 10}));
  EXPECT_EQ(step.axes, axes(m, "x,y"));
  std::vector<bool> sent(12);
  for (int64_t source : getPermuteSources(m, in, out)) {
    EXPECT_FALSE(sent[source]);
    sent[source] = true;
  }
}

TEST(ReshardStep, WireElements) {
  EXPECT_EQ(getWireElements(CollectiveKind::AllReduce, 4, 8), 12);
  EXPECT_EQ(getWireElements(CollectiveKind::AllGather, 4, 8), 6);
  EXPECT_EQ(getWireElements(CollectiveKind::ReduceScatter, 4, 8), 6);
  EXPECT_EQ(getWireElements(CollectiveKind::AllToAll, 4, 8), 6);
  EXPECT_EQ(getWireElements(CollectiveKind::CollectivePermute, 4, 8), 8);
  EXPECT_EQ(getWireElements(CollectiveKind::AllSlice, 4, 0), 0);
  EXPECT_EQ(getWireElements(CollectiveKind::ToPartial, 4, 0), 0);
  EXPECT_EQ(stringify(CollectiveKind::ReduceScatter), "reduce_scatter");
}

} // namespace
