// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Windows become few, and what they reach at either end stays.

#include "passes/Verify/WindowShrinker.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tp;

namespace {

/// Of tensors of windows with fill: the operands come first.
constexpr unsigned kInput = 0, kResult = 2;

struct Case {
  int64_t length, devices, windows, taps, low;
  int64_t stride = 1, dilation = 1;
};

class WindowShrinkerTest : public testing::Test {
protected:
  WindowShrinkerTest() {
    DialectRegistry registry;
    registry.insert<TPDialect, func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  std::optional<WindowShrinker> shrink(const Case &c, bool isWhole = false) {
    module = parseSourceString<ModuleOp>(
        llvm::formatv(R"(
func.func @f(%x: tensor<7x{0}xf32>, %s: tensor<f32>) {{
  %0 = tp.window %x, %s dims = [1] low = [{1}] strides = [{2}] dilations = [{3}] : (tensor<7x{0}xf32>, tensor<f32>) -> tensor<7x{4}x{5}xf32>
  return
})",
                      c.length, c.low, c.stride, c.dilation, c.windows, c.taps)
            .str(),
        ParserConfig(&context));
    mesh.axes = {Axis{"x", c.devices, {}}};
    TensorSharding from = TensorSharding::replicate(2),
                   to = TensorSharding::replicate(3);
    if (c.devices > 1) {
      to.dims[1].axes.push_back(AxisRef::full(mesh, 0));
      if (!isWhole)
        from.dims[1].axes = to.dims[1].axes;
    }
    WindowOp window;
    module->walk([&](WindowOp op) { window = op; });
    return WindowShrinker::create(window, from, to, mesh);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Mesh mesh;
};

TEST_F(WindowShrinkerTest, KeepsBothEndsAndHowBlocksLie) {
  unsigned found = 0;
  for (int64_t devices : {1, 2, 3, 4, 7})
    for (int64_t stride : {1, 2, 3})
      for (int64_t taps : {1, 2, 3, 5})
        for (int64_t dilation : {1, 2})
          for (int64_t low : {-1, 0, 1, 3})
            for (int64_t length = 20; length <= 61; ++length)
              for (int64_t extra : {0, 1}) {
                Case c{length, devices, length / stride + extra, taps, low,
                       stride, dilation};
                std::optional<WindowShrinker> small = shrink(c);
                if (!small)
                  continue;
                ++found;
                int64_t less = *small->getSize(kInput, 1),
                        few = *small->getSize(kResult, 1);
                EXPECT_LE(less, length);
                EXPECT_LE(few, c.windows);
                EXPECT_EQ(*small->getSize(kResult, 2), taps);
                EXPECT_FALSE(small->getSize(kInput, 0));
                EXPECT_FALSE(small->getSize(kResult, 0));
                // How far the last window is from the input's end.
                EXPECT_EQ(length - (c.windows - 1) * stride,
                          less - (few - 1) * stride);
                if (devices == 1)
                  continue;
                int64_t places = small->getAxes().at(0);
                EXPECT_LE(places, devices);
                EXPECT_EQ((BlockLayout{length, devices}.isUneven()),
                          (BlockLayout{less, places}.isUneven()));
                EXPECT_EQ((BlockLayout{c.windows, devices}.isUneven()),
                          (BlockLayout{few, places}.isUneven()));
                EXPECT_EQ(
                    small->mapRows(BlockLayout{length, devices}.block(), 1),
                    (BlockLayout{less, places}.block()));
              }
  EXPECT_GT(found, 1000u);
}

TEST_F(WindowShrinkerTest, MapsALongSequence) {
  std::optional<WindowShrinker> small = shrink({131072, 64, 131072, 4, 3});
  ASSERT_TRUE(small);
  EXPECT_LE(small->getAxes().at(0), 4);
  EXPECT_LE(*small->getSize(kInput, 1), 40);
  int64_t block = *small->mapRows(2048, 1);
  // The last three rows of a block, which the next device fetches.
  EXPECT_EQ(small->mapRows(2045, 1), block - 3);
  EXPECT_EQ(small->mapRows(2044, 1), block - 4);
  EXPECT_EQ(small->mapRows(2051, 1), block + 3);
  EXPECT_EQ(small->mapRows(3, 1), 3);
}

TEST_F(WindowShrinkerTest, LeavesWhatBeginsWhereTheDeviceIs) {
  EXPECT_FALSE(shrink({64, 4, 64, 3, 1}, /*isWhole=*/true));
  // Blocks of 16 windows on blocks of 17 rows.
  EXPECT_FALSE(shrink({66, 4, 64, 3, 0}));
  // The last of five devices has nothing.
  EXPECT_FALSE(shrink({8, 5, 8, 3, 1}));
}

} // namespace
