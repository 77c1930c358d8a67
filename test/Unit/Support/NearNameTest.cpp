// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which word a misspelt one is taken for.

#include "lib/Support/NearName.h"

#include <gtest/gtest.h>

using namespace tp;

TEST(NearName, IsTheNearest) {
  EXPECT_EQ(findNearName("modle", {"data", "model"}), "model");
  EXPECT_EQ(findNearName("tp.gelo", {"tp.exp", "tp.gelu", "tp.relu"}),
            "tp.gelu");
  EXPECT_EQ(findNearName("stopafter", {"stop-after", "stop"}), "stop-after");
  // Of two that are equally near, the first.
  EXPECT_EQ(findNearName("tarn", {"turn", "torn"}), "turn");
}

TEST(NearName, MayHaveAThirdOfALongWordWrong) {
  EXPECT_EQ(findNearName("expornantal", {"exponential"}), "exponential");
  EXPECT_EQ(findNearName("optimiserzz", {"optimizer"}), "optimizer");
}

TEST(NearName, IsNoneThatIsFar) {
  EXPECT_EQ(findNearName("lunch", {"import", "localize"}), "");
  EXPECT_EQ(findNearName("modle", {}), "");
  // Any other word of two letters would be near.
  EXPECT_EQ(findNearName("x", {"y", "z"}), "");
}
