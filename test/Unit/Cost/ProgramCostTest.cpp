// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Work, launches and storage of programs small enough to count by hand.

#include "lib/Cost/ProgramCost.h"

#include "dialects/TP/Interface.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tp;
using namespace tp::cost;

namespace {

class ProgramCostTest : public ::testing::Test {
protected:
  ProgramCostTest() {
    DialectRegistry registry;
    registry.insert<TPDialect, spmd::SPMDDialect, func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Reads a function and makes the table of its mesh.
  void read(const std::string &text) {
    module = parseSourceString<ModuleOp>(
        "spmd.mesh @mesh <[\"data\"=2, \"model\"=4]>\n" + text,
        ParserConfig(&context));
    ASSERT_TRUE(module);
    function = *module->getOps<func::FuncOp>().begin();
    FailureOr<spmd::MeshOp> mesh =
        tp::getMesh(cast<FunctionOpInterface>(*function));
    ASSERT_TRUE(succeeded(mesh));
    table.emplace(&context, mesh->toMesh());
  }

  template <typename OpT> OpT find() {
    OpT found;
    function.walk([&](OpT op) { found = op; });
    return found;
  }

  ActivationPeak getPeak() {
    return getActivationPeak(cast<FunctionOpInterface>(*function), *table);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::optional<ShardingTable> table;
};

TEST_F(ProgramCostTest, WorkOfAnEinsumIsThatOfItsBlocks) {
  read(R"(
func.func @f(%x: tensor<8x512xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
             %w: tensor<512x2046xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
             %v: tensor<512x2046xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>}) {
  %0 = tp.einsum "bi,io->bo" %x, %v {spmd.shardings = [#spmd.sharding<@mesh, [{"data"}, {"model"}]>]} : (tensor<8x512xf32>, tensor<512x2046xf32>) -> tensor<8x2046xf32>
  return
})");
  Work work = getWork(find<EinsumOp>(), *table);
  EXPECT_EQ(work.flops, 2.0 * 4 * 512 * 512); // 2046 over 4 is 512
  EXPECT_EQ(work.bytes, 4.0 * (4 * 512 + 512 * 512 + 4 * 512));
  EXPECT_TRUE(work.contraction);
  EXPECT_EQ(work.bits, 32u);
}

TEST_F(ProgramCostTest, LocalTypesCostWhatGlobalOnesDo) {
  read(R"(
func.func @f(%x: tensor<4x512xf32, #spmd.local<@mesh, [{"data"}, {}], global=[8, 512]>>,
             %v: tensor<512x512xf32, #spmd.local<@mesh, [{}, {"model"}], global=[512, 2046]>>) {
  %0 = tp.einsum "bi,io->bo" %x, %v : (tensor<4x512xf32, #spmd.local<@mesh, [{"data"}, {}], global=[8, 512]>>, tensor<512x512xf32, #spmd.local<@mesh, [{}, {"model"}], global=[512, 2046]>>) -> tensor<4x512xf32, #spmd.local<@mesh, [{"data"}, {"model"}], global=[8, 2046]>>
  return
})");
  Work work = getWork(find<EinsumOp>(), *table);
  EXPECT_EQ(work.flops, 2.0 * 4 * 512 * 512);
  EXPECT_EQ(work.bytes, 4.0 * (4 * 512 + 512 * 512 + 4 * 512));
}

TEST_F(ProgramCostTest, AddressedTensorsCostTheirPartsOnly) {
  read(R"(
func.func @f(%e: tensor<50000x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
             %t: tensor<8xi32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>},
             %c: tensor<1024x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
             %p: tensor<i32>) {
  %0 = tp.embedding %e, %t {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : (tensor<50000x64xf32>, tensor<8xi32>) -> tensor<8x64xf32>
  %1 = tp.dynamic_update_slice %c, %0 [%p, %p] {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : (tensor<1024x64xf32>, tensor<8x64xf32>, tensor<i32>, tensor<i32>) -> tensor<1024x64xf32>
  return
})");
  EXPECT_EQ(getWork(find<EmbeddingOp>(), *table).bytes,
            4.0 * (8 * 64 + 8 * 64 + 8));
  EXPECT_EQ(getWork(find<DynamicUpdateSliceOp>(), *table).bytes,
            2 * 4.0 * (8 * 64 + 2));
}

TEST_F(ProgramCostTest, LaunchesAreChargedOnARing) {
  read(R"(
func.func @f(%x: tensor<10x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>}) {
  %0 = spmd.all_gather %x [{"model"}, {}] in <@mesh, [{"model"}, {}]> out <@mesh, [{}, {}]> : tensor<10x6xf32> -> tensor<10x6xf32>
  %1 = spmd.all_slice %0 [{"data"}, {}] in <@mesh, [{}, {}]> out <@mesh, [{"data"}, {}]> : tensor<10x6xf32> -> tensor<10x6xf32>
  return
})");
  std::optional<CollectiveCost> launch =
      getCollectiveCost(find<spmd::AllGatherOp>(), *table);
  ASSERT_TRUE(launch);
  // 10 rows on 4 devices travel in blocks of 3.
  EXPECT_EQ(launch->bytes % (6 * 4), 0);
  EXPECT_GE(launch->bytes, 10 * 6 * 4);
  EXPECT_EQ(launch->wireBytes, launch->bytes * 3 / 4);
  EXPECT_EQ(launch->source, function.getArgument(0));
  EXPECT_EQ(launch->getReductions(), "none");
  // Slicing is free, and so is everything that is no collective.
  EXPECT_FALSE(getCollectiveCost(find<spmd::AllSliceOp>(), *table));
  EXPECT_FALSE(getCollectiveCost(function, *table));
}

TEST_F(ProgramCostTest, ALaunchOfSeveralKindsIsTheirSum) {
  read(R"(
func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xi16>) {
  %0:3 = spmd.combined [all_reduce, all_reduce, all_gather] %x, %y, %z
    in [<@mesh, [{}], unreduced={"model"}>, <@mesh, [{}], unreduced=max{"model"}>, <@mesh, [{"model"}]>]
    out [<@mesh, [{}]>, <@mesh, [{}]>, <@mesh, [{}]>]
    : (tensor<8xf32>, tensor<8xf32>, tensor<8xi16>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xi16>)
  return
})");
  std::optional<CollectiveCost> launch =
      getCollectiveCost(find<spmd::CombinedOp>(), *table);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->getName(), "all_reduce+all_gather");
  EXPECT_EQ(launch->getReductions(), "sum+max");
  EXPECT_EQ(launch->bytes, 32 + 32 + 16);
  // Of four devices, each sends 6/4 of a sum and 3/4 of a gather.
  EXPECT_EQ(launch->wireBytes, 48 + 48 + 12);
  ASSERT_EQ(launch->shares.size(), 3u);
  EXPECT_EQ(launch->shares[1].reduce, ReduceKind::Max);
  EXPECT_EQ(launch->shares[2].wireBytes, 12);
}

TEST_F(ProgramCostTest, LoopsMultiply) {
  read(R"(
func.func @f(%x: tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>}, %p: tensor<i1>) {
  %0 = tp.for 3 (%x) {
  ^bb0(%i: tensor<i32>, %a: tensor<4xf32>):
    %1 = tp.for 5 (%a) {
    ^bb0(%j: tensor<i32>, %b: tensor<4xf32>):
      %2 = tp.tanh %b {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : tensor<4xf32>
      tp.yield %2 : tensor<4xf32>
    } {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : (tensor<4xf32>) -> tensor<4xf32>
    tp.yield %1 : tensor<4xf32>
  } {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = tp.while (%0) cond {
  ^bb0(%c: tensor<4xf32>):
    tp.yield %p : tensor<i1>
  } do {
  ^bb0(%c: tensor<4xf32>):
    %4 = tp.gelu tanh %c {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : tensor<4xf32>
    tp.yield %4 : tensor<4xf32>
  } {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
})");
  Trips inner = getTrips(find<TanhOp>());
  EXPECT_EQ(inner.times, 15);
  EXPECT_EQ(inner.note, "");
  Trips once = getTrips(find<GeluOp>());
  EXPECT_EQ(once.times, 1);
  EXPECT_NE(once.note.find("tp.while"), std::string::npos);
  // x and p for the whole call, and in the innermost body what comes, what goes
  // and the counter: carried values share storage with what they came from.
  EXPECT_EQ(getPeak().peak.bytes, (16 + 1) + (16 + 16 + 4));
}

TEST_F(ProgramCostTest, ARepeatedSumCostsMoreThanALaunch) {
  read("func.func @f(%x: tensor<8x4xf32>) { return }");
  auto type = cast<RankedTensorType>(function.getArgument(0).getType());
  CostModel cost(table->getMesh(), std::nullopt);
  LayoutPool pool;
  ReshardEstimator estimator(table->getMesh(), pool);
  ReshardPrices prices(estimator, cost, type);
  TensorSharding whole = TensorSharding::replicate(2), partial = whole,
                 cut = whole;
  partial.unreduced = {{1, 1, 4}};
  cut.dims[0].axes = {{1, 1, 4}};
  unsigned to = pool.getNumber(whole), from = pool.getNumber(partial),
           scattered = pool.getNumber(cut);
  Price once = prices.get(from, to, /*isRepeated=*/false);
  Price repeated = prices.get(from, to, /*isRepeated=*/true);
  EXPECT_EQ(repeated.cost, once.cost);
  EXPECT_GT(repeated.preference, once.preference);
  // A scatter and a gather are two launches: no better.
  EXPECT_LT(repeated.preference,
            prices.get(from, scattered, true).preference +
                prices.get(scattered, to, true).preference);
  // Of what is cut, a loop had better keep less.
  EXPECT_EQ(prices.get(from, scattered, true).preference,
            prices.get(from, scattered, false).preference);
}

TEST_F(ProgramCostTest, OperandsAndResultsAreHeldTogether) {
  read(R"(
func.func @f(%x: tensor<8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
             %w: tensor<16x64xf32> {tp.source = #tp.source<"w", stored=[16, 64], start=[0, 0], size=[16, 64], view=[16, 64], permutation=[0, 1]>, spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>}) -> tensor<8x64xf32> {
  %0 = tp.einsum "bi,io->bo" %x, %w {spmd.shardings = [#spmd.sharding<@mesh, [{"data"}, {"model"}]>]} : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %1 = tp.tanh %0 {spmd.shardings = [#spmd.sharding<@mesh, [{"data"}, {"model"}]>]} : tensor<8x64xf32>
  %2 = tp.add %1, %1 {spmd.shardings = [#spmd.sharding<@mesh, [{"data"}, {"model"}]>]} : tensor<8x64xf32>
  return %2 : tensor<8x64xf32>
})");
  ActivationPeak peak = getPeak();
  // The input, and two of the products' blocks; no parameter.
  EXPECT_EQ(peak.peak.bytes, 4 * (4 * 16 + 2 * 4 * 16));
  EXPECT_EQ(peak.op, find<TanhOp>());
  FunctionOpInterface interface = cast<FunctionOpInterface>(*function);
  EXPECT_EQ(getRole(interface, 0), Role::Input);
  EXPECT_EQ(getRole(interface, 1), Role::Parameter);
}

TEST_F(ProgramCostTest, ACacheIsWrittenInPlace) {
  read(R"(
func.func @f(%c: tensor<1024x64xf32> {tp.donated = 0 : i64, spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
             %k: tensor<1x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
             %p: tensor<i32>) -> tensor<1024x64xf32> {
  %0 = tp.dynamic_update_slice %c, %k [%p, %p] {spmd.shardings = [#spmd.sharding<@mesh, [{}, {"model"}]>]} : (tensor<1024x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> tensor<1024x64xf32>
  return %0 : tensor<1024x64xf32>
})");
  EXPECT_EQ(getRole(cast<FunctionOpInterface>(*function), 0), Role::State);
  EXPECT_EQ(getPeak().peak.bytes, 4 * 16 + 4);
}

/// Two rows added to those of a donated argument; what has no sharding does not
/// count.
static std::string makeScatter(StringRef element) {
  return llvm::formatv(R"(
func.func @f(%c: tensor<1024x64x{0}> {{tp.donated = 0 : i64}, %u: tensor<2x64x{0}>, %i: tensor<2xi32>) -> tensor<1024x64x{0}> {{
  %0 = tp.scatter add %c, %i, %u axis = 0 batch = 0 {{spmd.shardings = [#spmd.sharding<@mesh, [{{}, {{}]>]} : (tensor<1024x64x{0}>, tensor<2xi32>, tensor<2x64x{0}>) -> tensor<1024x64x{0}>
  return %0 : tensor<1024x64x{0}>
})",
                       element)
      .str();
}

TEST_F(ProgramCostTest, AScatterWritesInPlace) {
  read(makeScatter("f32"));
  EXPECT_EQ(getPeak().peak.bytes, 0);
}

TEST_F(ProgramCostTest, AScatterThatRoundsDoesNot) {
  read(makeScatter("bf16"));
  EXPECT_EQ(getPeak().peak.bytes, 2 * 1024 * 64);
}

TEST_F(ProgramCostTest, UnevenBlocksCountAsPadding) {
  read(R"(
func.func @f(%x: tensor<10xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}]>}) {
  %0 = tp.tanh %x {spmd.shardings = [#spmd.sharding<@mesh, [{"model"}]>]} : tensor<10xf32>
  return
})");
  // 3, 3, 3, 1: two of three rows, in both values.
  EXPECT_EQ(getPeak().peak.bytes, 4 * (3 + 3));
  EXPECT_EQ(getPeak().peak.padding, 4 * (2 + 2));
}

TEST_F(ProgramCostTest, AValueWithoutAShardingIsUnknown) {
  read(R"(
func.func @f(%x: tensor<10xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}]>}) {
  %0 = tp.tanh %x : tensor<10xf32>
  return
})");
  EXPECT_FALSE(getLocalTensor(find<TanhOp>()->getResult(0), *table));
  EXPECT_TRUE(getLocalTensor(function.getArgument(0), *table));
}

} // namespace
