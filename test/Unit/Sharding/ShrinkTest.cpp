// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Sharding/Algebra/Shrink.h"

#include "gtest/gtest.h"

using namespace tp;

namespace {

Mesh makeMesh(std::initializer_list<int64_t> sizes) {
  Mesh mesh;
  for (int64_t size : sizes)
    mesh.axes.push_back(
        {std::string(1, char('x' + mesh.axes.size())), size, {}});
  return mesh;
}

// Whole axes become 3 devices at most; pieces keep their places.
TEST(ShrinkTest, ShrinksPieces) {
  Mesh mesh = makeMesh({8, 4, 2, 30});
  MeshShrinker small(mesh);
  small.use(AxisRef{0, 1, 2});
  small.use(AxisRef{3, 2, 3});
  EXPECT_EQ(small.getMesh().axes[0].size, 6); // 2 * 4 -> 2 * 3
  EXPECT_EQ(small.getMesh().axes[1].size, 3);
  EXPECT_EQ(small.getMesh().axes[2].size, 2);
  EXPECT_EQ(small.getMesh().axes[3].size, 18); // 2 * 3 * 5 -> 2 * 3 * 3
  EXPECT_EQ(small.map(AxisRef{0, 2, 4}), (AxisRef{0, 2, 3}));
  EXPECT_EQ(small.map(AxisRef{3, 6, 5}), (AxisRef{3, 6, 3}));
  EXPECT_EQ(small.map(AxisRef{1, 1, 4}), (AxisRef{1, 1, 3}));
}

// Pinned axes, and axes whose cuts are no common grid, keep their size.
TEST(ShrinkTest, KeepsWhatCannotShrink) {
  Mesh mesh = makeMesh({6, 8});
  MeshShrinker small(mesh);
  small.use(AxisRef{0, 1, 2});
  small.use(AxisRef{0, 1, 3});
  small.pin(1);
  EXPECT_EQ(small.getMesh().axes[0].size, 6);
  EXPECT_EQ(small.getMesh().axes[1].size, 8);
  EXPECT_EQ(small.map(AxisRef{0, 3, 2}), (AxisRef{0, 3, 2}));
}

// For every extent up to 200 on every number of devices up to 12, the small
// extent is no larger and lies as the large one does.
TEST(ShrinkTest, KeepsHowExtentsLie) {
  unsigned shrunk = 0;
  for (int64_t k = 2; k <= 12; ++k)
    for (int64_t n = 1; n <= 200; ++n) {
      int64_t small = std::min<int64_t>(k, 3);
      int64_t m = shrinkExtent(n, {{k, small}});
      ASSERT_LE(m, n);
      if (m == n)
        continue;
      ++shrunk;
      BlockLayout large{n, k}, little{m, small};
      EXPECT_EQ(large.isUneven(), little.isUneven());
      EXPECT_EQ(large.valid(k - 1) == 0, little.valid(small - 1) == 0);
      EXPECT_LE(m, 24);
    }
  EXPECT_GT(shrunk, 1800u);
}

// Two cuts of one dimension: whether blocks of the finer make blocks of the
// coarser stays as it is.
TEST(ShrinkTest, KeepsHowCutsMeet) {
  for (int64_t n = 1; n <= 100; ++n) {
    int64_t m = shrinkExtent(n, {{8, 6}, {2, 2}});
    if (m < n)
      EXPECT_EQ((BlockLayout{n, 8}.mergesEvenly(4)),
                (BlockLayout{m, 6}.mergesEvenly(3)));
  }
}

// What nothing cuts becomes small, and never larger than it was.
TEST(ShrinkTest, ShrinksWholeExtents) {
  EXPECT_EQ(shrinkExtent(49152, {}), 2);
  EXPECT_EQ(shrinkExtent(49152, {}, 3), 3);
  EXPECT_EQ(shrinkExtent(1, {}), 1);
  EXPECT_EQ(shrinkExtent(0, {}), 0);
  EXPECT_EQ(shrinkExtent(0, {{4, 3}}), 0);
}

} // namespace
