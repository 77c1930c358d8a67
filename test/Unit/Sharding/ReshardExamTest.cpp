// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Plans that are known to be right, word by word. Names like C8 are the items
// of test/Exam/exam.md.

#include "Notation.h"

#include "tpopt/Sharding/Reshard.h"

using namespace tp;
using namespace tp::test;

namespace {

struct Planned {
  std::string text;
  double wire;
};

void PrintTo(const Planned &planned, std::ostream *os) {
  *os << planned.text << " (w " << planned.wire << ")";
}
bool operator==(const Planned &a, const Planned &b) {
  return a.text == b.text && a.wire == b.wire;
}

Planned plan(const char *meshText, const char *from, const char *to,
             llvm::ArrayRef<int64_t> shape) {
  Mesh m = mesh(meshText);
  ReshardPlanner planner(m);
  const ReshardPlan &plan =
      planner.plan(sharding(m, from), sharding(m, to), shape, 4);
  EXPECT_TRUE(plan.complete);
  EXPECT_FALSE(plan.fullyGathers());
  EXPECT_DOUBLE_EQ(plan.cost, 4 * plan.getWire());
  return {plan.str(m), plan.getWire()};
}

// C1: only the dropped suffix of axes is gathered.
TEST(ReshardExam, GathersSuffix) {
  EXPECT_EQ(plan("x2,y2,z2", "[(x,y,z),-]", "[x,-]", {16, 8}),
            (Planned{"AG{y,z} V=64", 48}));
  EXPECT_EQ(plan("y8,x2", "[y,x]", "[y:(1)4,x]", {16, 8}),
            (Planned{"AG{y:(4)2} V=16", 8}));
}

// C2: adding axes to a value replicated over them is local.
TEST(ReshardExam, SlicesForFree) {
  EXPECT_EQ(plan("x2,y2,z2", "[-,-]", "[x,(y,z)]", {16, 8}),
            (Planned{"S{x,y,z}", 0}));
  EXPECT_EQ(plan("x2,y2,z2", "[x,y]", "[x,(y,z)]", {16, 8}),
            (Planned{"S{z}", 0}));
}

// C3 to C6: any number of moves to the end of other dimensions is one exchange.
TEST(ReshardExam, MovesAxesAtOnce) {
  EXPECT_EQ(plan("x2,y2,z2", "[x,y,-]", "[-,y,x]", {16, 8, 8}),
            (Planned{"A2A{x} V=256", 128}));
  EXPECT_EQ(plan("x2,y2,z2", "[(x,z),y]", "[x,(y,z)]", {16, 8}),
            (Planned{"A2A{z} V=16", 8}));
  EXPECT_EQ(plan("x2,y2,z2", "[y,x,-]", "[-,-,(x,y)]", {16, 8, 8}),
            (Planned{"A2A{x,y} V=256", 192}));
  EXPECT_EQ(plan("x4,y2,z4", "[-,(y,z),-]", "[(x,z),-,y]", {16, 8, 8}),
            (Planned{"S{x}; A2A{y,z} V=32", 28}));
  EXPECT_EQ(plan("x2,y2,z2", "[y,(x,z),-]", "[-,-,(x,y,z)]", {16, 8, 8}),
            (Planned{"A2A{x,y,z} V=128", 112}));
}

// C7: equal blocks only change owner.
TEST(ReshardExam, PermutesEqualBlocks) {
  EXPECT_EQ(plan("x2,y2", "[x,y]", "[y,x]", {16, 8}),
            (Planned{"CP{x,y} V=32", 32}));
  EXPECT_EQ(plan("x2,y2", "[(x,y),-]", "[(y,x),-]", {16, 8}),
            (Planned{"CP{x,y} V=32", 32}));
}

// C8, E6: 4 and 2 share a factor 2, so half of an axis changes place.
TEST(ReshardExam, SplitsAxes) {
  EXPECT_EQ(plan("x4,y2", "[x,y]", "[y,x]", {16, 8}),
            (Planned{"A2A{x:(2)2} V=16; CP{x:(1)2,y} V=16", 24}));
  EXPECT_EQ(plan("x4,y2", "[y,-]", "[x,-]", {64, 16}),
            (Planned{"S{x:(2)2}; CP{x:(1)2,y} V=256", 256}));
  // Of 64 only a half is as large as y.
  EXPECT_EQ(plan("x64,y2", "[x,y]", "[y,x]", {512, 512}),
            (Planned{"A2A{x:(2)32} V=2048; CP{x:(1)2,y} V=2048", 4032}));
}

// C9: permute or slice while the blocks are small, gather last.
TEST(ReshardExam, GathersLast) {
  EXPECT_EQ(plan("x2,y2,z2", "[(y,x,z),-]", "[z,-]", {16, 8}),
            (Planned{"CP{y,z} V=16; AG{x,y} V=64", 64}));
  EXPECT_EQ(plan("x2,y2", "[x,-]", "[-,y]", {16, 8}),
            (Planned{"S{y}; AG{x} V=64", 32}));
}

// C10: sizes 2 and 3 share no factor.
TEST(ReshardExam, NonPowersOfTwo) {
  EXPECT_EQ(plan("x2,y3", "[x,-]", "[y,-]", {12, 12}),
            (Planned{"S{y}; CP{x,y} V=24; AG{x} V=48", 48}));
  EXPECT_EQ(plan("x2,y3", "[x,y]", "[y,x]", {12, 12}),
            (Planned{"A2A{x} V=24; A2A{x,y} V=24; A2A{x} V=24", 44}));
}

// C11: an axis of size 1 carries no data.
TEST(ReshardExam, IgnoresAxesOfSizeOne) {
  EXPECT_EQ(plan("x2,y2,z2,u1", "[(x,u),-]", "[x,u]", {16, 8}),
            (Planned{"", 0}));
  EXPECT_EQ(plan("u1", "[u,-] ", "[-,-] +u", {16, 8}), (Planned{"", 0}));
}

// K1: a sum that is cut afterwards is scattered, for every kind of reduction.
TEST(ReshardExam, ScattersSums) {
  EXPECT_EQ(plan("x2", "[-,-] +x", "[x,-]", {16, 16}),
            (Planned{"RS{x} V=256", 128}));
  EXPECT_EQ(plan("x2", "[-,-] max+x", "[x,-]", {16, 16}),
            (Planned{"RS{x} V=256", 128}));
  EXPECT_EQ(plan("x2", "[-,-] min+x", "[-,x]", {16, 16}),
            (Planned{"RS{x} V=256", 128}));
}

// K2: of a sum over two axes, what is wanted scattered is scattered first.
TEST(ReshardExam, ScattersBeforeReducing) {
  EXPECT_EQ(plan("x2,y2", "[-,-] +x,y", "[x,-]", {16, 16}),
            (Planned{"RS{x} V=256; AR{y} V=128", 256}));
}

// K3: the free slice goes first.
TEST(ReshardExam, SlicesBeforeReducing) {
  EXPECT_EQ(plan("x2,y2", "[-,-] +x", "[(y,x),-]", {16, 16}),
            (Planned{"S{y}; RS{x} V=128", 64}));
}

// K4: scatter once over both axes, move the difference.
TEST(ReshardExam, ScattersThenMoves) {
  EXPECT_EQ(plan("x2,y2", "[-,-] +x,y", "[(x,y),-]", {16, 16}),
            (Planned{"RS{x,y} V=256", 192}));
  EXPECT_EQ(plan("x2,y2", "[(x,y),-]", "[x,y]", {16, 16}),
            (Planned{"A2A{y} V=64", 32}));
}

// O3, O10, O11: the results of partial products.
TEST(ReshardExam, PartialProducts) {
  EXPECT_EQ(plan("x4,y2", "[x,-] +y", "[x,-]", {8, 16}),
            (Planned{"AR{y} V=32", 32}));
  EXPECT_EQ(plan("x4,y2", "[x,-] +y", "[x,y]", {8, 16}),
            (Planned{"RS{y} V=32", 16}));
  EXPECT_EQ(plan("x4,y2", "[x,-] +y", "[(x,y),-]", {8, 16}),
            (Planned{"RS{y} V=32", 16}));
  EXPECT_EQ(plan("x4,y2", "[x,-] +y", "[(y,x),-]", {8, 16}),
            (Planned{"RS{y} V=32; CP{x,y} V=16", 32}));
  EXPECT_EQ(plan("x4,y2", "[x,-] +y", "[y,-]", {8, 16}),
            (Planned{"RS{y} V=32; CP{x,y} V=16; AG{x} V=64", 80}));
  EXPECT_EQ(plan("x4,y2", "[-,x] +y", "[x,-]", {8, 16}),
            (Planned{"RS{y} V=32; A2A{x,y} V=16; AG{y} V=32", 46}));
  EXPECT_EQ(plan("x4,y2", "[x,-] +y", "[-,-]", {8, 16}),
            (Planned{"AR{y} V=32; AG{x} V=128", 128}));
}

// R6, R8: what a reshape needs, on the side where the dimensions are apart.
TEST(ReshardExam, BeforeReshapes) {
  EXPECT_EQ(plan("x4,y2", "[y,x]", "[(y,x:(1)2),x:(2)2]", {4, 8}).wire, 6);
  EXPECT_EQ(plan("y2", "[-,y]", "[y,-]", {8, 6}), (Planned{"A2A{y} V=24", 12}));
}

// O7, O9, E3: an operand that changes sides.
TEST(ReshardExam, MovesOperands) {
  EXPECT_EQ(plan("x4", "[x,-]", "[-,x]", {4, 4096}),
            (Planned{"A2A{x} V=4096", 3072}));
  EXPECT_EQ(plan("x4", "[-,x]", "[x,-]", {16, 8}),
            (Planned{"A2A{x} V=32", 24}));
  EXPECT_EQ(plan("a4", "[a,-]", "[-,a]", {32, 32}),
            (Planned{"A2A{a} V=256", 192}));
}

// Becoming a partial sum is free, whether the value is a copy or a block there.
TEST(Reshard, ToPartialIsFree) {
  EXPECT_EQ(plan("x2,y2", "[x,-]", "[-,-] +x", {8, 8}), (Planned{"P{x}", 0}));
  EXPECT_EQ(plan("x2,y2", "[x,-]", "[x,-] +y", {8, 8}), (Planned{"P{y}", 0}));
  EXPECT_EQ(plan("x2,y2", "[-,-] +x", "[-,-] +x,y", {8, 8}),
            (Planned{"P{y}", 0}));
  // Sums and maxima are not the same thing.
  EXPECT_EQ(plan("x2,y2", "[-,-] +x", "[-,-] max+x", {8, 8}),
            (Planned{"RS{x} V=64; P{x}", 32}));
}

// An axis of 6 read as 2x3 on one side and as 3x2 on the other has no common
// parts: the whole axis stands between the two.
TEST(Reshard, PartsThatDoNotFit) {
  EXPECT_EQ(plan("x6", "[x:(1)2,-]", "[x:(1)3,-]", {12, 12}),
            (Planned{"S{x:(2)3}; AG{x:(3)2} V=48", 24}));
  EXPECT_EQ(plan("x6", "[x:(1)2,x:(2)3]", "[x:(1)3,x:(3)2]", {12, 12}),
            (Planned{"A2A{x:(2)3} V=24; A2A{x:(3)2} V=24", 28}));
}

// Blocks of 3,3,3,1 do not join to blocks of 5: what moves must be whole. A
// plan says so if it holds the whole tensor on the way.
TEST(Reshard, UnevenBlocks) {
  Mesh m = mesh("x4");
  ReshardPlanner planner(m);
  const ReshardPlan &down = planner.plan(
      sharding(m, "[x,-]"), sharding(m, "[x:(1)2,-]"), {10, 10}, 4);
  EXPECT_EQ(down.str(m), "AG{x} V=120; S{x:(1)2}");
  EXPECT_TRUE(down.fullyGathers());
  EXPECT_EQ(plan("x4", "[x,-]", "[-,x]", {10, 10}),
            (Planned{"A2A{x} V=36", 27}));
  EXPECT_EQ(plan("x4", "[-,-]", "[x,-]", {10, 10}), (Planned{"S{x}", 0}));
}

// Nothing is too small: rank 0, no elements, fewer elements than devices.
TEST(Reshard, DegenerateTensors) {
  EXPECT_EQ(plan("x4", "[] +x", "[]", {}), (Planned{"AR{x} V=1", 1.5}));
  EXPECT_EQ(plan("x4", "[]", "[]", {}), (Planned{"", 0}));
  EXPECT_EQ(plan("x4", "[x,-]", "[-,x]", {0, 10}), (Planned{"A2A{x} V=0", 0}));
  EXPECT_EQ(plan("x4", "[x,-]", "[-,x]", {1, 1}), (Planned{"A2A{x} V=4", 3}));
}

// With links, a reduction over a fast and a slow axis goes over the slow one
// with the pieces that the fast one leaves, as soon as this saves more than two
// launches.
TEST(Reshard, LinksDecide) {
  Mesh m = mesh("host2,gpu4");
  m.hasLinks = true;
  m.axes[0].link = {5e-6, 1 / 50e9};
  m.axes[1].link = {2e-6, 1 / 370e9};
  ReshardPlanner planner(m);
  TensorSharding from = sharding(m, "[-] +host,gpu");
  TensorSharding to = sharding(m, "[-]");
  EXPECT_EQ(planner.plan(from, to, {64}, 4).str(m), "AR{host,gpu} V=64");
  const ReshardPlan &large = planner.plan(from, to, {1 << 24}, 4);
  EXPECT_EQ(large.str(m),
            "RS{gpu} V=16777216; AR{host} V=4194304; AG{gpu} V=16777216");
  EXPECT_EQ(large.launches, 3);
  double bytes = 4.0 * (1 << 24);
  EXPECT_NEAR(large.cost,
              5e-6 + bytes / 4 / 50e9 + 2 * (2e-6 + 0.75 * bytes / 370e9),
              1e-9);
}

// An answer is computed once and stays where it is.
TEST(Reshard, RemembersPlans) {
  Mesh m = mesh("x2,y2");
  ReshardPlanner planner(m);
  TensorSharding from = sharding(m, "[x,y]"), to = sharding(m, "[y,x]");
  const ReshardPlan *first = &planner.plan(from, to, {8, 8}, 4);
  for (int64_t size = 9; size < 200; ++size)
    planner.plan(from, to, {size, size}, 4);
  from.dims[0].open = true;
  from.dims[0].priority = 3;
  EXPECT_EQ(&planner.plan(from, to, {8, 8}, 4), first);
  EXPECT_EQ(planner.cost(from, to, {8, 8}, 4), 64);
}

// Five columns on four devices have padding: a plan for buffers that may have
// none goes another way, at a price.
TEST(Reshard, Evenly) {
  Mesh m = mesh("x4,z3");
  TensorSharding from = sharding(m, "[z,-,-]"), to = sharding(m, "[-,(z,x),-]");
  ReshardPlanner any(m), evenly(m, /*evenly=*/true);
  auto isEven = [](const ReshardPlan &plan, llvm::ArrayRef<int64_t> shape) {
    return llvm::none_of(plan.steps, [&](const ReshardStep &step) {
      return hasPadding(step.result, shape);
    });
  };
  llvm::SmallVector<int64_t> shape{3, 12, 5}, smooth{12, 12, 12};
  EXPECT_FALSE(isEven(any.plan(from, to, shape, 4), shape));
  const ReshardPlan &plan = evenly.plan(from, to, shape, 4);
  EXPECT_TRUE(isEven(plan, shape));
  EXPECT_TRUE(plan.getResult().sameLayout(to));
  EXPECT_GE(plan.cost, any.plan(from, to, shape, 4).cost);
  EXPECT_EQ(evenly.plan(from, to, smooth, 4).str(m),
            any.plan(from, to, smooth, 4).str(m));
}

// Many axes: more states than can be looked at. The plan is found in bounded
// time, is better than gathering everything, and says that it is not proved.
TEST(Reshard, ManyAxes) {
  Mesh m = mesh("a2,b2,c2,d2,e2,f2,g2,h2");
  ReshardPlanner planner(m);
  TensorSharding from = sharding(m, "[(a,b,g),(c,d),-] +e,f,h");
  TensorSharding to = sharding(m, "[(e,d,h),(f,g),(b,a,c)]");
  const ReshardPlan &plan = planner.plan(from, to, {512, 512, 512}, 4);
  EXPECT_FALSE(plan.complete);
  EXPECT_FALSE(plan.fullyGathers());
  EXPECT_TRUE(plan.getResult().sameLayout(to));
  EXPECT_LE(plan.getWire(), 3.0 * 512 * 512 * 512 / 32);
}

} // namespace
