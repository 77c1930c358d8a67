// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parts of tensors become small in the order in which their numbers were.

#include "passes/Verify/PartShrinker.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tp;

namespace {

/// Of tensors of a slice along two dimensions: the operands come first.
constexpr unsigned kWhole = 0, kPart = 3;

class PartShrinkerTest : public testing::Test {
protected:
  PartShrinkerTest() {
    DialectRegistry registry;
    registry.insert<TPDialect, func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Of a slice of `part` rows of `whole`, on so many devices.
  std::optional<PartShrinker> shrink(int64_t whole, int64_t devices,
                                     int64_t part) {
    module = parseSourceString<ModuleOp>(llvm::formatv(R"(
func.func @f(%x: tensor<{0}x7xf32>, %i: tensor<i32>) {{
  %0 = tp.dynamic_slice %x [%i, %i] : (tensor<{0}x7xf32>, tensor<i32>, tensor<i32>) -> tensor<{1}x7xf32>
  return
})",
                                                       whole, part)
                                             .str(),
                                         ParserConfig(&context));
    mesh.axes = {Axis{"x", devices, {}}};
    TensorSharding layout = TensorSharding::replicate(2);
    if (devices > 1)
      layout.dims[0].axes.push_back(AxisRef::full(mesh, 0));
    Operation *slice = nullptr;
    module->walk([&](DynamicSliceOp op) { slice = op; });
    return PartShrinker::create(slice, layout, mesh);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Mesh mesh;
};

TEST_F(PartShrinkerTest, KeepsTheOrderOfPartAndBlock) {
  for (int64_t devices = 2; devices <= 9; ++devices)
    for (int64_t whole = 8; whole <= 80; ++whole)
      for (int64_t part = 1; part < whole; ++part) {
        std::optional<PartShrinker> small = shrink(whole, devices, part);
        if (!small)
          continue;
        int64_t block = BlockLayout{whole, devices}.block();
        int64_t few = small->getAxes().at(0);
        int64_t length = *small->getSize(kWhole, 0),
                less = *small->getSize(kPart, 0);
        BlockLayout layout{length, few};
        EXPECT_LE(few, devices);
        EXPECT_LE(length, whole);
        EXPECT_LT(less, length);
        EXPECT_EQ((BlockLayout{whole, devices}.isUneven()), layout.isUneven());
        EXPECT_EQ(part < block, less < layout.block());
        EXPECT_EQ(part == block, less == layout.block());
        EXPECT_EQ(part == 1, less == 1);
        EXPECT_EQ(small->mapRows(block, 0), layout.block());
        EXPECT_EQ(small->mapRows(part, 0), less);
        EXPECT_FALSE(small->getSize(kWhole, 1));
      }
}

TEST_F(PartShrinkerTest, MapsACacheOfManyPositions) {
  std::optional<PartShrinker> small = shrink(131072, 64, 4096);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->getAxes().at(0), 3);
  EXPECT_EQ(small->getSize(kWhole, 0), 6);
  EXPECT_EQ(small->getSize(kPart, 0), 3);
  EXPECT_EQ(small->mapIndices(4096), 3);
  EXPECT_EQ(small->mapIndices(2048), 2);
  EXPECT_FALSE(small->mapIndices(2047));
  EXPECT_FALSE(small->mapRows(4095, 0));
}

TEST_F(PartShrinkerTest, LeavesWhatIsWholeOrEmpty) {
  EXPECT_FALSE(shrink(64, 4, 64));
  // Four blocks of two; the fifth device has nothing.
  EXPECT_FALSE(shrink(8, 5, 2));
}

} // namespace
