// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Pictures of shardings, drawn by hand.

#include "lib/Report/Picture.h"

#include "gtest/gtest.h"

using namespace tp;

namespace {

Mesh makeMesh(int64_t x, int64_t y) {
  Mesh mesh;
  mesh.axes = {{"x", x, {}}, {"y", y, {}}};
  return mesh;
}

TensorSharding shard(std::initializer_list<AxisList> dims) {
  TensorSharding sharding;
  for (const AxisList &axes : dims) {
    sharding.dims.emplace_back();
    sharding.dims.back().axes = axes;
  }
  return sharding;
}

std::string draw(const Mesh &mesh, const TensorSharding &sharding,
                 llvm::ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printPicture(makePicture(mesh, sharding, shape), os);
  return "\n" + text;
}

TEST(PictureTest, FormatsDevices) {
  EXPECT_EQ(formatDevices({}), "");
  EXPECT_EQ(formatDevices({3}), "3");
  EXPECT_EQ(formatDevices({0, 1}), "0-1");
  EXPECT_EQ(formatDevices({0, 2, 3, 4, 9}), "0,2-4,9");
}

TEST(PictureTest, TwoDimensions) {
  Mesh mesh = makeMesh(2, 2);
  AxisRef x = AxisRef::full(mesh, 0), y = AxisRef::full(mesh, 1);
  EXPECT_EQ(draw(mesh, shard({{x}, {y}}), {8, 3}), R"(
  dim 0 down, dim 1 across
        0-1   2
      +-----+-----+
  0-3 | 0   | 1   |
      +-----+-----+
  4-7 | 2   | 3   |
      +-----+-----+
)");
}

TEST(PictureTest, OneDimensionLiesAsInAMatrix) {
  Mesh mesh = makeMesh(2, 2);
  AxisRef y = AxisRef::full(mesh, 1);
  EXPECT_EQ(draw(mesh, shard({{}, {y}}), {4, 4}), R"(
  dim 1 across
    0-1   2-3
  +-----+-----+
  | 0,2 | 1,3 |
  +-----+-----+
)");
  EXPECT_EQ(draw(mesh, shard({{y}, {}}), {4, 4}), R"(
  dim 0 down

      +-----+
  0-1 | 0,2 |
      +-----+
  2-3 | 1,3 |
      +-----+
)");
}

TEST(PictureTest, SomeDevicesHoldNothing) {
  // 9 rows on 4 devices: 3, 3, 3, 0. The ids are another order.
  Mesh mesh = makeMesh(4, 1);
  mesh.deviceIds = {3, 2, 1, 0};
  EXPECT_EQ(draw(mesh, shard({{AxisRef::full(mesh, 0)}}), {9}), R"(
  dim 0 across
    0-2    3-5    6-8    none
  +------+------+------+------+
  | 3    | 2    | 1    | 0    |
  +------+------+------+------+
)");
}

TEST(PictureTest, SaysWhatItLeavesOut) {
  Mesh mesh = makeMesh(2, 4);
  Picture picture = makePicture(
      mesh,
      shard({{AxisRef::full(mesh, 0)}, {AxisRef{1, 1, 2}}, {AxisRef{1, 2, 2}}}),
      {4, 4, 4});
  EXPECT_EQ(picture.boxes,
            (std::vector<std::string>{"0-1", "2-3", "4-5", "6-7"}));
  ASSERT_EQ(picture.notes.size(), 1u);
  EXPECT_NE(picture.notes[0].find("not drawn: dim 2"), std::string::npos);

  TensorSharding partial = TensorSharding::replicate(1);
  partial.unreduced = {AxisRef::full(mesh, 0)};
  picture = makePicture(mesh, partial, {4});
  EXPECT_EQ(picture.boxes, std::vector<std::string>{"0-7"});
  ASSERT_EQ(picture.notes.size(), 1u);
  EXPECT_NE(picture.notes[0].find("{x} hold partial values, whose sum"),
            std::string::npos);
}

TEST(PictureTest, NeverWiderThanATerminal) {
  for (int64_t size : {1, 7, 64, 1024}) {
    Mesh mesh = makeMesh(size, size == 1024 ? 2 : size);
    AxisRef x = AxisRef::full(mesh, 0), y = AxisRef::full(mesh, 1);
    for (const TensorSharding &sharding :
         {shard({{x}, {y}}), shard({{y}, {x}}), shard({{x, y}, {}}),
          shard({{}, {x}}), shard({{}, {y}})}) {
      std::string text = draw(mesh, sharding, {1000000, 30});
      llvm::SmallVector<llvm::StringRef> lines;
      llvm::StringRef(text).split(lines, '\n');
      EXPECT_LT(lines.size(), 42u);
      for (llvm::StringRef line : lines)
        EXPECT_LE(line.size(), 80u) << line.str();
    }
  }
}

} // namespace
