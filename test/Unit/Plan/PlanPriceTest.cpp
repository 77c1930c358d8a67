// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A plan that is priced again after a change costs what it costs when it is
// priced from the start.

#include "Programs.h"

#include "lib/Plan/Atoms.h"
#include "lib/Plan/PlanPrice.h"

#include "lib/Plan/Planner.h"
#include "lib/Support/Random.h"

#include "gtest/gtest.h"

#include <ctime>

using namespace mlir;
using namespace tp;
using namespace tp::plan;
using namespace tp::cost;

namespace {

/// Gated layers that all use one scale.
std::string writeLayers(unsigned count) {
  std::string text = "func.func @layers(%scale: tensor<64xf32>, %x0: "
                     "tensor<16x64xf32>";
  for (unsigned i = 0; i < count; ++i) {
    std::string n = std::to_string(i);
    text += ", %up" + n + ": tensor<64x128xf32>, %gate" + n +
            ": tensor<64x128xf32>, %down" + n + ": tensor<128x64xf32>";
  }
  text += ") -> tensor<16x64xf32> {\n";
  auto einsum = [&](const std::string &spec, const std::string &a,
                    const std::string &b, const std::string &types) {
    return "tp.einsum \"" + spec + "\" %" + a + ", %" + b + " : " + types +
           "\n";
  };
  for (unsigned i = 0; i < count; ++i) {
    std::string n = std::to_string(i);
    std::string up = "(tensor<16x64xf32>, tensor<64x128xf32>) -> "
                     "tensor<16x128xf32>";
    text += "%n" + n + " = tp.rms_norm %x" + n +
            ", %scale epsilon = 1.0e-05 : (tensor<16x64xf32>, "
            "tensor<64xf32>) -> tensor<16x64xf32>\n";
    text += "%u" + n + " = " + einsum("bi,ij->bj", "n" + n, "up" + n, up);
    text += "%g" + n + " = " + einsum("bi,ij->bj", "n" + n, "gate" + n, up);
    text += "%s" + n + " = tp.silu %g" + n + " : tensor<16x128xf32>\n";
    text +=
        "%m" + n + " = tp.mul %u" + n + ", %s" + n + " : tensor<16x128xf32>\n";
    text += "%d" + n + " = " +
            einsum("bj,jo->bo", "m" + n, "down" + n,
                   "(tensor<16x128xf32>, tensor<128x64xf32>) -> "
                   "tensor<16x64xf32>");
    text += "%x" + std::to_string(i + 1) + " = tp.add %x" + n + ", %d" + n +
            " : tensor<16x64xf32>\n";
  }
  return text + "return %x" + std::to_string(count) + " : tensor<16x64xf32>\n}";
}

class PlanPriceTest : public ::testing::Test {
protected:
  void read(unsigned layers) {
    program = std::make_unique<PlannedProgram>("\"x\"=2, \"y\"=2",
                                               writeLayers(layers));
    space = std::make_unique<SearchSpace>(
        *program->table,
        collectAtoms(program->function, *program->table, /*allAxes=*/true),
        *program->cost, /*evenly=*/false);
    view = std::make_unique<ProgramView>(program->function);
    graph =
        buildGraph(*space, *view, program->function, /*freeArguments=*/true);
    price = std::make_unique<PlanPrice>(*space, graph,
                                        Selection(graph.choices.size(), 0));
  }
  unsigned countOptions(unsigned choice) const {
    return graph.choices[choice].options->prices.size();
  }
  unsigned getArgument(unsigned number) const {
    return graph.carriers.lookup(program->function.getArgument(number));
  }

  std::unique_ptr<PlannedProgram> program;
  std::unique_ptr<SearchSpace> space;
  std::unique_ptr<ProgramView> view;
  PlanGraph graph;
  std::unique_ptr<PlanPrice> price;
};

TEST_F(PlanPriceTest, AChangedPlanCostsWhatAFreshOneDoes) {
  read(3);
  Random random(1);
  for (unsigned trial = 0; trial < 300; ++trial) {
    unsigned choice = random.draw(0, graph.choices.size() - 1);
    price->select(choice, random.draw(0, countOptions(choice) - 1));
    // The scale has a use in every layer.
    unsigned scale =
        graph.valueNumbers.lookup(program->function.getArgument(0));
    Cuts cuts;
    for (unsigned use = 1; use < graph.values[scale].needs.size(); ++use)
      if (random.percent(50))
        cuts.push_back(use);
    price->setCuts(scale, cuts);
    PlanPrice fresh(*space, graph, price->getSelection());
    fresh.setCuts(scale, cuts);
    ASSERT_EQ(price->getPrice().cost, fresh.getPrice().cost);
    ASSERT_EQ(price->getPrice().preference, fresh.getPrice().preference);
    ASSERT_EQ(price->getPrice().launches, fresh.getPrice().launches);
    ASSERT_EQ(price->getPeakBytes(), fresh.getPeakBytes());
    ASSERT_EQ(price->getPersistentBytes(), fresh.getPersistentBytes());
  }
}

/// 512 bytes each.
TEST(PlanMemoryTest, IsWhatCountingByHandGives) {
  PlannedProgram program("\"x\"=2", R"(
func.func @f(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %a = tp.relu %x : tensor<8x16xf32>
  %b = tp.relu %a : tensor<8x16xf32>
  return %b : tensor<8x16xf32>
})");
  Planner planner(program.function, *program.table, *program.cost,
                  {/*freeArguments=*/true, /*allAxes=*/true});
  planner.choose();
  Value x = program.function.getArgument(0);
  Operation *first = &program.function.getBody().front().front();
  Value a = first->getResult(0), b = first->getNextNode()->getResult(0);
  TensorSharding whole = TensorSharding::replicate(2), half = whole;
  half.dims[0].axes.push_back(AxisRef::full(program.table->getMesh(), 0));
  auto getPeak = [&](const TensorSharding &ofX, const TensorSharding &ofA,
                     const TensorSharding &ofB) {
    EXPECT_TRUE(planner.select(x, ofX) && planner.select(a, ofA) &&
                planner.select(b, ofB));
    return planner.getCost().peakBytes;
  };
  // The input is the caller's for the whole call; %a and %b meet at the second
  // op.
  EXPECT_EQ(getPeak(half, half, half), 3 * 256);
  // The half of %x is another tensor, which lives as long as %a is made.
  EXPECT_EQ(getPeak(whole, half, half), 512 + 2 * 256);
  // A half of %a is there beside %a.
  EXPECT_EQ(getPeak(whole, whole, half), 512 + 512 + 256);
}

TEST_F(PlanPriceTest, PricesManyLayersAgainFast) {
  read(32);
  // Processor time: the least of several rounds, since others may use the
  // machine.
  auto measure = [&](unsigned argument) {
    unsigned choice = getArgument(argument);
    double least = 1;
    constexpr unsigned kChanges = 200;
    for (unsigned round = 0; round < 20; ++round) {
      std::clock_t start = std::clock();
      for (unsigned i = 0; i < kChanges; ++i)
        price->select(choice, i % countOptions(choice));
      least = std::min(least, double(std::clock() - start) / CLOCKS_PER_SEC /
                                  kChanges);
    }
    return least;
  };
  // The scale is an operand of every layer.
  for (unsigned argument : {0, 1, 2}) {
    double seconds = measure(argument);
    RecordProperty("us_argument_" + std::to_string(argument),
                   std::to_string(seconds * 1e6));
    EXPECT_LE(seconds, 50e-6);
  }
}

} // namespace
