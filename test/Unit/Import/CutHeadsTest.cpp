// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How an axis cuts heads, for all small numbers of heads and devices.

#include "passes/Import/Features.h"

#include <gtest/gtest.h>

using namespace tp;

// The whole axis is used once, its parts in order; queries are cut evenly, and
// key-value heads are, too, unless they take the whole axis.
TEST(CutHeads, AllSmallSizes) {
  for (int64_t kv = 1; kv <= 12; ++kv)
    for (int64_t group = 1; group <= 8; ++group)
      for (int64_t n = 1; n <= 24; ++n) {
        Mesh mesh;
        mesh.axes = {{"model", n, {}}};
        HeadAxes axes = cutHeads(kv, group, AxisRef::full(mesh, 0));
        int64_t kvCut = getSize(axes.kv), groupCut = getSize(axes.group);
        EXPECT_EQ(kvCut * groupCut, n);
        EXPECT_EQ(group % groupCut, 0);
        EXPECT_TRUE(kv % kvCut == 0 || groupCut == 1);
        // Unevenly only if there is no even way.
        if (kv % kvCut != 0)
          for (int64_t part = 1; part <= n; ++part)
            EXPECT_FALSE(n % part == 0 && kv % part == 0 &&
                         group % (n / part) == 0 && part == std::gcd(kv, n));
        auto sharding = TensorSharding::replicate(2);
        sharding.dims[0].axes = axes.kv;
        sharding.dims[1].axes = axes.group;
        EXPECT_FALSE(verify(sharding, mesh, 2))
            << kv << " " << group << " " << n;
      }
}

TEST(CutHeads, Examples) {
  Mesh mesh;
  mesh.axes = {{"model", 4, {}}};
  AxisRef axis = AxisRef::full(mesh, 0);
  EXPECT_EQ(cutHeads(8, 4, axis).kv, AxisList{axis});
  EXPECT_EQ(cutHeads(2, 4, axis).kv, AxisList({{0, 1, 2}}));
  EXPECT_EQ(cutHeads(2, 4, axis).group, AxisList({{0, 2, 2}}));
  EXPECT_EQ(cutHeads(1, 8, axis).kv, AxisList());
  EXPECT_EQ(cutHeads(1, 8, axis).group, AxisList{axis});
  EXPECT_EQ(cutHeads(3, 3, axis).kv, AxisList{axis});
  EXPECT_EQ(cutHeads(3, 3, axis).group, AxisList());
}
