// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Enumerate.h"
#include "Notation.h"

#include <limits>
#include <set>

using namespace tp;
using namespace tp::test;

namespace {

// Blocks cover a dimension, in order and without overlap, for all sizes to 40
// on up to 12 devices.
TEST(BlockLayout, CoversTheDimension) {
  for (int64_t n = 0; n <= 40; ++n)
    for (int64_t k = 1; k <= 12; ++k) {
      BlockLayout layout = {n, k};
      int64_t covered = 0;
      bool padded = false;
      for (int64_t i = 0; i < k; ++i) {
        EXPECT_EQ(layout.begin(i), covered);
        EXPECT_LE(layout.valid(i), layout.block());
        EXPECT_GE(layout.valid(i), 0);
        covered += layout.valid(i);
        padded |= layout.valid(i) < layout.block();
      }
      EXPECT_EQ(covered, n);
      EXPECT_EQ(layout.isUneven(), padded);
      EXPECT_TRUE(n == 0 || (layout.block() - 1) * k < n);
    }
  EXPECT_EQ((BlockLayout{10, 4}.valid(3)), 1);
}

// Blocks merge if a buffer of the coarser layout is as large as those of the
// finer one together. Then every coarser block starts where a finer one does.
TEST(BlockLayout, MergesWhereBoundariesCoincide) {
  for (int64_t n = 0; n <= 40; ++n)
    for (int64_t k = 1; k <= 12; ++k)
      for (int64_t s = 1; s <= k; ++s) {
        if (k % s != 0)
          continue;
        BlockLayout fine = {n, k}, coarse = {n, k / s};
        if (s == k || s == 1)
          EXPECT_TRUE(fine.mergesEvenly(s));
        if (n % k == 0)
          EXPECT_TRUE(fine.mergesEvenly(s));
        if (fine.mergesEvenly(s))
          for (int64_t i = 0; i < k / s; ++i)
            EXPECT_EQ(coarse.begin(i), fine.begin(i * s));
      }
  EXPECT_FALSE((BlockLayout{10, 4}.mergesEvenly(2)));
}

// The layouts that the rest of the tests enumerate are valid and all different.
TEST(TensorSharding, AllLayoutsAreValid) {
  for (const char *text : {"x4,y2", "x6", "x2,y3"}) {
    Mesh m = mesh(text);
    AxisList digits = getPrimeDigits(m);
    std::set<std::string> seen;
    for (const DigitLayout &layout : getAllLayouts(digits.size(), 2, true)) {
      TensorSharding sharding = toSharding(layout, digits);
      EXPECT_EQ(verify(sharding, m, 2), std::nullopt);
      EXPECT_EQ(sharding.getLayout(), sharding);
      EXPECT_TRUE(seen.insert(sharding.str(m)).second) << sharding.str(m);
    }
  }
}

// Every way in which a sharding can be wrong.
TEST(TensorSharding, VerifyRejects) {
  Mesh m = mesh("x8,y2,z6");
  auto getCode = [&](const TensorSharding &sharding, unsigned rank) {
    std::optional<ShardingError> error = verify(sharding, m, rank);
    EXPECT_TRUE(error && !error->message.empty());
    return error ? error->code : ErrorCode::DynamicShape;
  };
  auto make = [&](llvm::ArrayRef<AxisList> dims, AxisList unreduced = {},
                  AxisList replicated = {}) {
    TensorSharding sharding = TensorSharding::replicate(dims.size());
    for (auto [dim, list] : llvm::zip(sharding.dims, dims))
      dim.axes = list;
    sharding.unreduced = unreduced;
    sharding.replicated = replicated;
    return sharding;
  };
  EXPECT_EQ(getCode(make({axes(m, "x")}), 2), ErrorCode::RankMismatch);
  EXPECT_EQ(getCode(make({axes(m, "x"), axes(m, "x")}), 2),
            ErrorCode::AxisUsedTwice);
  EXPECT_EQ(getCode(make({axes(m, "x:(1)4"), axes(m, "x:(2)2")}), 2),
            ErrorCode::AxisUsedTwice);
  EXPECT_EQ(getCode(make({axes(m, "x")}, axes(m, "x:(4)2")), 1),
            ErrorCode::AxisUsedTwice);
  EXPECT_EQ(getCode(make({axes(m, "x")}, {}, axes(m, "x:(4)2")), 1),
            ErrorCode::AxisUsedTwice);
  EXPECT_EQ(getCode(make({axes(m, "x:(1)3")}), 1), ErrorCode::BadSubAxis);
  EXPECT_EQ(getCode(make({axes(m, "x:(3)2")}), 1), ErrorCode::BadSubAxis);
  EXPECT_EQ(getCode(make({axes(m, "x:(2)1")}), 1), ErrorCode::BadSubAxis);
  EXPECT_EQ(getCode(make({axes(m, "x:(0)2")}), 1), ErrorCode::BadSubAxis);
  EXPECT_EQ(getCode(make({axes(m, "x:(-1)2")}), 1), ErrorCode::BadSubAxis);
  int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(getCode(make({AxisList{{0, huge, huge}}}), 1),
            ErrorCode::BadSubAxis);
  EXPECT_EQ(
      getCode(make({AxisList{{0, int64_t(1) << 32, int64_t(1) << 32}}}), 1),
      ErrorCode::BadSubAxis);
  EXPECT_EQ(getCode(make({axes(m, "z:(1)2"), axes(m, "z:(3)2")}), 2),
            ErrorCode::BadSubAxis);
  EXPECT_EQ(getCode(make({axes(m, "x:(1)2,x:(2)4")}), 1),
            ErrorCode::SubAxisNotMerged);
  TensorSharding priority = TensorSharding::replicate(1, /*open=*/true);
  priority.dims[0].priority = 1;
  EXPECT_EQ(getCode(priority, 1), ErrorCode::PriorityOnEmptyDim);
}

// Open, priorities, replicated and axes of size 1 are not part of a layout.
TEST(TensorSharding, SameLayout) {
  Mesh m = mesh("x4,y2,u1");
  TensorSharding plain = sharding(m, "[x,-] +y");
  TensorSharding fancy = sharding(m, "[(u,x),u:(1)1] +y");
  EXPECT_TRUE(plain.sameLayout(fancy));
  fancy = plain;
  fancy.dims[0].open = true;
  fancy.dims[0].priority = 2;
  EXPECT_TRUE(plain.sameLayout(fancy));
  EXPECT_NE(plain, fancy);
  EXPECT_EQ(fancy.getLayout(), plain);
  fancy.kind = ReduceKind::Max;
  EXPECT_FALSE(plain.sameLayout(fancy));
  EXPECT_FALSE(plain.sameLayout(sharding(m, "[x,-]")));
  EXPECT_FALSE(sharding(m, "[(x,y)]").sameLayout(sharding(m, "[(y,x)]")));
  // Without unreduced axes a kind means nothing.
  TensorSharding max = sharding(m, "[x,-]");
  max.kind = ReduceKind::Max;
  EXPECT_EQ(max, sharding(m, "[x,-]"));
  EXPECT_TRUE(sharding(m, "[u,-]").isReplicated());
  EXPECT_FALSE(plain.isReplicated());
}

TEST(TensorSharding, UsesAxes) {
  Mesh m = mesh("x4,y2,z2");
  TensorSharding s = sharding(m, "[x:(1)2,-] +y");
  EXPECT_TRUE(s.uses(axis(m, "x")));
  EXPECT_FALSE(s.uses(axis(m, "x:(2)2")));
  EXPECT_TRUE(s.uses(axis(m, "y")));
  EXPECT_FALSE(s.uses(axis(m, "z")));
  EXPECT_EQ(sharding(m, "[x,(z,y)]").getDimAxes(), axes(m, "x,z,y"));
}

TEST(TensorSharding, LocalShape) {
  Mesh m = mesh("x4,y2");
  auto local = [&](const char *text, llvm::ArrayRef<int64_t> shape) {
    return getLocalShape(sharding(m, text), shape);
  };
  using Shape = llvm::SmallVector<int64_t>;
  EXPECT_EQ(local("[x,-]", {10, 7}), (Shape{3, 7}));
  EXPECT_EQ(local("[(x,y),-]", {10, 7}), (Shape{2, 7}));
  EXPECT_EQ(local("[x,y]", {2, 0}), (Shape{1, 0}));
  EXPECT_EQ(local("[-,y] +x", {2, 3}), (Shape{2, 2}));
}

TEST(TensorSharding, Prints) {
  Mesh m = mesh("x4,y2,z2");
  TensorSharding s = sharding(m, "[(x:(1)2,y),-,-] max+z");
  s.dims[0].open = true;
  s.dims[0].priority = 1;
  s.dims[1].open = true;
  s.replicated = axes(m, "x:(2)2");
  EXPECT_EQ(s.str(m), R"([{"x":(1)2, "y", ?}p1, {?}, {}], )"
                      R"(replicated={"x":(2)2}, unreduced=max{"z"})");
  EXPECT_EQ(sharding(m, "[] +z").str(m), R"([], unreduced={"z"})");
}

} // namespace
