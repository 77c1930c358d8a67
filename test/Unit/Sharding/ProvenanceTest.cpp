// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where axes come from, and why others do not arrive.

#include "ProgramNotation.h"

#include <set>

using namespace tp;
using namespace tp::test;

namespace {

TEST(Provenance, EveryHopIsRecordedDownToTheAnnotation) {
  Program p("data2,model4");
  ValueId x = p.value({8, 16}, "[data,-]"), w1 = p.value({16, 32}, "[-,model]");
  ValueId h = p.dot(x, w1), g = p.map(h), w2 = p.value({32, 16});
  ValueId y = p.dot(g, w2);
  p.run();
  AxisRef data = AxisRef::full(p.mesh, 0), model = AxisRef::full(p.mesh, 1);

  auto path = p.provenance.trace(p.graph, w2, model);
  ASSERT_EQ(path.size(), 3u);
  EXPECT_EQ(path[0].value, w2);
  EXPECT_EQ(path[0].dim, 0u);
  EXPECT_EQ(path[0].op, 2u);
  EXPECT_EQ(path[0].source, g);
  EXPECT_TRUE(path[0].step == (Step{0, OpStep::AnyFactor})) << "a reduction";
  EXPECT_EQ(path[1].source, h);
  EXPECT_EQ(path[2].value, h);
  EXPECT_EQ(path[2].source, w1);
  EXPECT_TRUE(path[2].step == (Step{0, OpStep::PassThrough}));

  path = p.provenance.trace(p.graph, y, data);
  ASSERT_EQ(path.size(), 3u);
  EXPECT_EQ(path.back().source, x);
  EXPECT_TRUE(p.provenance.trace(p.graph, x, data).empty());
  EXPECT_TRUE(p.provenance.getLosses().empty());
}

TEST(Provenance, APathGoesThroughSubAxesAndLoops) {
  Program p("a4");
  ValueId init = p.value({8}), argument = p.value({8});
  ValueId split = p.reshape(argument, {2, 4}, "[a:(1)2?,a:(2)2?]");
  ValueId yield = p.reshape(split, {8}), result = p.value({8});
  ASSERT_FALSE(p.graph.addDataFlow({init, yield}, {argument, result}));
  p.run();
  EXPECT_EQ(p[init], "[a?]");
  EXPECT_EQ(p[result], "[a?]");
  for (AxisRef half :
       {test::axis(p.mesh, "a:(1)2"), test::axis(p.mesh, "a:(2)2")})
    for (ValueId value : {init, argument, yield, result}) {
      auto path = p.provenance.trace(p.graph, value, half);
      ASSERT_FALSE(path.empty());
      EXPECT_EQ(path.back().source, split);
    }
}

TEST(Provenance, LossesInReshapesNameTheirReason) {
  Program p("x2,y3");
  // Minor cut, major not.
  ValueId strided = p.reshape(p.value({8, 6}, "[-,x]"), {48});
  // The major one is full, 3 does not divide 4.
  ValueId indivisible = p.reshape(p.value({2, 4}, "[x,y]"), {8});
  // The operand ends inside a factor already.
  ValueId uneven = p.value({8}, "[y?]");
  ValueId from = p.reshape(uneven, {2, 4}, "[x,-]");
  p.run();
  EXPECT_EQ(p.losses(strided), "0 x Strided");
  EXPECT_EQ(p[indivisible], "[x?]");
  EXPECT_EQ(p.losses(indivisible), "0 y NotDivisible");
  EXPECT_EQ(p.losses(uneven), "0 x Overflow");
  EXPECT_EQ(p.losses(from), "") << "nothing of y can be said in factors";
}

TEST(Provenance, PriorityIsAboutStepsNotOrder) {
  // Both come in one step: whoever is there keeps the axis.
  Program p("a2");
  ValueId x = p.value({8, 8}, "[a,-]"), y = p.map(x);
  p.ret(y, "[?,a]");
  p.run();
  EXPECT_EQ(p[y], "[a?,?]");
  EXPECT_EQ(p.losses(y), "1 a < a AxisInUse");
  // The later user priority loses to the earlier one.
  Program q("a2");
  x = q.value({8, 8}, "[a p1,-]");
  y = q.map(x);
  q.ret(y, "[?,a]");
  q.run();
  EXPECT_EQ(q[y], "[?,a?]");
  EXPECT_EQ(q.losses(y), "0 a < a Priority");
}

TEST(Provenance, EveryRuleAndStepHasAName) {
  std::set<llvm::StringRef> names;
  for (unsigned rule = 0; rule <= static_cast<unsigned>(LossRule::Barrier);
       ++rule)
    EXPECT_TRUE(names.insert(stringify(static_cast<LossRule>(rule))).second);
  for (unsigned step = 0; step <= static_cast<unsigned>(OpStep::Everything);
       ++step)
    EXPECT_TRUE(names.insert(stringify(static_cast<OpStep>(step))).second);
}

} // namespace
