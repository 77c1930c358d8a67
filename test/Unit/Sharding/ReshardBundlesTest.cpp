// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reshards along more axes than a search can look at all arrangements of.

#include "Notation.h"

#include "tpopt/Sharding/Reshard.h"

#include <algorithm>
#include <random>

using namespace tp;
using namespace tp::test;

namespace {

const char *const kTenAxes = "a2,b2,c2,d2,e2,f2,g2,h2,i2,j2";

/// Every step of a plan may follow the one before, and the last leads to `to`.
void check(const Mesh &m, const ReshardPlan &plan, const TensorSharding &to,
           llvm::ArrayRef<int64_t> shape) {
  TensorSharding layout = plan.from;
  for (const ReshardStep &step : plan.steps) {
    EXPECT_EQ(verifyStep(m, layout, step, shape), std::nullopt);
    layout = step.result;
  }
  EXPECT_TRUE(layout.sameLayout(to));
}

double getWire(const char *meshText, const char *from, const char *to) {
  Mesh m = mesh(meshText);
  ReshardPlanner planner(m);
  TensorSharding target = sharding(m, to);
  const ReshardPlan &plan =
      planner.plan(sharding(m, from), target, {2048, 4096}, /*elementBytes=*/4);
  check(m, plan, target, {2048, 4096});
  return plan.getWire();
}

// Ten axes that move as four cost what four axes do.
TEST(ReshardBundles, CostAsMuchAsAxes) {
  auto expectSame = [](const char *from, const char *to, const char *few,
                       const char *fewFrom, const char *fewTo) {
    double wire = getWire(few, fewFrom, fewTo);
    EXPECT_EQ(getWire(kTenAxes, from, to), wire);
  };
  expectSame("[(a,b,c,d,e,f,g,h,i,j),-]", "[(a,b,c,d,e),(j,i)]", "p32,q8,i2,j2",
             "[(p,q,i,j),-]", "[p,(j,i)]");
  expectSame("[(a,b,c,d,e),(h,g,f)]", "[c,(a,b)]", "p4,c2,q4,r8", "[(p,c,q),r]",
             "[c,p]");
  // Unreduced and idle axes have no order.
  expectSame("[(j,i),-] +a,b,c,d,e,f,g,h", "[(j,i,a,c),-]", "p4,q4,r64",
             "[p,-] +q,r", "[(p,q),-]");
  expectSame("[-,(a,b,c,d,e,f,g,h,i,j)]", "[-,-] +a,b,c,d,e,f,g,h,i,j", "p1024",
             "[-,p]", "[-,-] +p");
}

// Parts of one axis that stay together are one again.
TEST(ReshardBundles, JoinsPartsOfAxes) {
  EXPECT_EQ(
      getWire("a16,b16,c2,d2", "[(a,b,c),-]", "[(a:(1)2,a:(4)4),(b:(4)4,c)]"),
      getWire("p2,q2,r4,s4,t4,c2", "[(p,q,r,s,t,c),-]", "[(p,r),(t,c)]"));
}

// Nothing stays together, and the search still ends.
TEST(ReshardBundles, EndsWithoutAny) {
  EXPECT_EQ(getWire(kTenAxes, "[(a,b,c,d,e,f,g,h,i,j),-]",
                    "[(j,i,h,g,f,e,d,c,b,a),-]"),
            2048 * 4096 / 1024);
  double gathered = getWire(kTenAxes, "[(a,b,c,d,e),(f,g,h,i,j)]", "[-,-]");
  EXPECT_LT(getWire(kTenAxes, "[(a,c,e,g,i),(b,d,f,h,j)]",
                    "[(j,h,f,d,b),(i,g,e,c,a)]"),
            gathered);
}

/// A layout in which pieces of axes stand anywhere, some beside each other.
TensorSharding draw(const Mesh &m, unsigned rank, std::mt19937 &random) {
  AxisList pieces;
  for (auto [number, axis] : llvm::enumerate(m.axes)) {
    bool isCut = axis.size == 4 && random() % 3 == 0;
    if (isCut)
      pieces.push_back({unsigned(number), 1, 2});
    pieces.push_back(isCut ? AxisRef{unsigned(number), 2, 2}
                           : AxisRef::full(m, number));
  }
  for (unsigned i = 0; i < 3; ++i)
    std::swap(pieces[random() % pieces.size()],
              pieces[random() % pieces.size()]);
  TensorSharding layout = TensorSharding::replicate(rank);
  AxisList unreduced;
  unsigned place = 0;
  for (const AxisRef &piece : pieces) {
    if (random() % 3 == 0)
      place = random() % (rank + 2);
    if (place < rank)
      appendMerged(layout.dims[place].axes, piece);
    else if (place == rank)
      unreduced.push_back(piece);
  }
  layout.unreduced = getMerged(unreduced);
  return layout;
}

// Whatever the axes, pieces of axes, sizes and links are.
TEST(ReshardBundles, PlansAreWays) {
  std::mt19937 random(1);
  const std::vector<int64_t> shapes[] = {{4096, 4608}, {100, 7}, {24, 96, 10}};
  for (const char *text :
       {"a2,b2,c2,d2,e2", "a4,b2,c3,d2,e2,f2", "a2,b4,c2,d4,e2,f3,g2"})
    for (bool hasLinks : {false, true}) {
      Mesh m = mesh(text);
      m.hasLinks = hasLinks;
      for (auto [number, axis] : llvm::enumerate(m.axes))
        axis.link = {1e-6 * double(number), 1e-9 / double(number + 1)};
      ReshardPlanner planner(m);
      for (unsigned i = 0; i < 108; ++i) {
        const std::vector<int64_t> &shape = shapes[i % 3];
        TensorSharding from = draw(m, shape.size(), random),
                       to = draw(m, shape.size(), random);
        check(m, planner.plan(from, to, shape, 4), to, shape);
      }
    }
}

} // namespace
