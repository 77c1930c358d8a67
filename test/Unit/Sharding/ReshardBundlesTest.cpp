// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reshards along more axes than a search can look at all arrangements of.

#include "Notation.h"

#include "tpopt/Sharding/Reshard.h"

using namespace tp;
using namespace tp::test;

namespace {

const char *const kTenAxes = "a2,b2,c2,d2,e2,f2,g2,h2,i2,j2";

double getWire(const char *meshText, const char *from, const char *to,
               PlanEffort effort = PlanEffort::Full) {
  Mesh m = mesh(meshText);
  ReshardPlanner planner(m, effort);
  const ReshardPlan &plan = planner.plan(sharding(m, from), sharding(m, to),
                                         {2048, 4096}, /*elementBytes=*/4);
  TensorSharding layout = plan.from;
  for (const ReshardStep &step : plan.steps) {
    EXPECT_EQ(verifyStep(m, layout, step, {2048, 4096}), std::nullopt);
    layout = step.result;
  }
  EXPECT_TRUE(layout.sameLayout(sharding(m, to)));
  return plan.getWire();
}

// Ten axes that move as four cost what four axes do; an estimate may be a bit
// above.
TEST(ReshardBundles, CostAsMuchAsAxes) {
  auto expectSame = [](const char *from, const char *to, const char *few,
                       const char *fewFrom, const char *fewTo) {
    double wire = getWire(few, fewFrom, fewTo);
    EXPECT_EQ(getWire(kTenAxes, from, to), wire);
    EXPECT_LE(getWire(kTenAxes, from, to, PlanEffort::Estimate), 1.05 * wire);
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

} // namespace
