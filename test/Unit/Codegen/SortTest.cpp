// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How sorts are divided among the threads of a GPU.

#include "lib/Codegen/Sort.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <set>

using namespace tp;
using namespace tp::codegen;

static std::pair<int64_t, int64_t> getTile(int64_t columns, int64_t width) {
  SortTile tile = getSortTile(columns, width);
  return {tile.width, tile.words};
}

static std::array<int64_t, 3> getPlan(int64_t rows, int64_t columns,
                                      int64_t kept, int64_t width) {
  SortPlan plan = getSortPlan(rows, columns, kept, width);
  return {plan.part, plan.kept, plan.ways};
}

// A word has an element and its index, and a tile 32 KiB.
TEST(Sort, Tiles) {
  using Tile = std::pair<int64_t, int64_t>;
  EXPECT_EQ(getTile(1, 32), Tile(32, 64));
  EXPECT_EQ(getTile(65, 32), Tile(64, 128));
  EXPECT_EQ(getTile(4096, 32), Tile(64, 4096));
  EXPECT_EQ(getTile(4097, 32), Tile(64, 4096));
  EXPECT_EQ(getTile(65536, 16), Tile(32, 8192));
  EXPECT_EQ(getTile(65537, 16), Tile(64, 4096));
  EXPECT_EQ(getTile(1 << 24, 8), Tile(32, 8192));
  EXPECT_EQ(getTile(100, 64), Tile(128, 128));
  EXPECT_EQ(getTile(5000, 64), Tile(128, 2048));
  EXPECT_EQ(getSortTile(65, 32).getThreads(), 32);
  EXPECT_EQ(getSortTile(4096, 32).getThreads(), 512);
  EXPECT_EQ(getSortTile(8192, 16).getThreads(), 1024);
}

// Wherever a group has its three bits, as many lanes as memory serves at a time
// find their words in different banks; and no two slots are one.
TEST(Sort, Banks) {
  for (int64_t width : {16, 32, 64}) {
    SortTile tile = getSortTile(1 << 13, width);
    int64_t lanes = std::min<int64_t>(32, 128 * 8 / tile.width);
    std::set<int64_t> all;
    for (int64_t slot = 0; slot < tile.words; ++slot)
      all.insert(permuteSlot(tile, slot));
    EXPECT_EQ(int64_t(all.size()), tile.words);
    EXPECT_EQ(*all.rbegin(), tile.words - 1);
    for (int64_t stride = 1; stride * kSortGroup <= tile.words; stride *= 2)
      for (int64_t member = 0; member < kSortGroup; ++member)
        for (int64_t lane = 0; lane < tile.getGroups(); lane += lanes) {
          std::set<int64_t> banks;
          for (int64_t group = lane; group < lane + lanes; ++group) {
            int64_t low = group % stride;
            int64_t slot = (group - low) * kSortGroup + low + member * stride;
            banks.insert(permuteSlot(tile, slot) % lanes);
          }
          ASSERT_EQ(int64_t(banks.size()), lanes)
              << width << " " << stride << " " << member << " " << lane;
        }
  }
}

// Short rows are counted, the longer the more is kept, and long ones of which
// much is kept, where no merge follows.
TEST(Sort, Forms) {
  EXPECT_EQ(getSortForm(1, 1, 32), SortForm::Count);
  EXPECT_EQ(getSortForm(42, 8, 16), SortForm::Count);
  EXPECT_EQ(getSortForm(43, 8, 16), SortForm::Tile);
  EXPECT_EQ(getSortForm(51, 51, 64), SortForm::Count);
  EXPECT_EQ(getSortForm(52, 52, 64), SortForm::Tile);
  EXPECT_EQ(getSortForm(4096, 4096, 32), SortForm::Tile);
  EXPECT_EQ(getSortForm(1 << 20, 512, 32), SortForm::Tile);
  EXPECT_EQ(getSortForm(1 << 20, 513, 32), SortForm::Count);
  EXPECT_EQ(getSortForm(65536, 1024, 16), SortForm::Tile);
  EXPECT_EQ(getSortForm(65536, 1025, 16), SortForm::Count);
  EXPECT_EQ(getSortForm(65536, 257, 64), SortForm::Count);
}

// What fits into a tile is one kernel. Of a vocabulary there are as many parts
// as fill a GPU, each of a tile or more; what is sorted whole is merged by
// fours.
TEST(Sort, Plans) {
  using Plan = std::array<int64_t, 3>;
  EXPECT_EQ(getPlan(1, 4096, 4096, 32), (Plan{4096, 4096, 1}));
  EXPECT_EQ(getPlan(1, 131072, 50, 32), (Plan{4096, 50, 32}));
  EXPECT_EQ(getPlan(1, 128256, 256, 32), (Plan{4008, 256, 32}));
  EXPECT_EQ(getPlan(64, 131072, 50, 32), (Plan{26215, 50, 5}));
  EXPECT_EQ(getPlan(264, 131072, 50, 32), (Plan{131072, 50, 1}));
  EXPECT_EQ(getPlan(1, 131072, 131072, 32), (Plan{4096, 4096, 4}));
  EXPECT_EQ(getPlan(1, 131072, 513, 32), (Plan{4096, 4096, 4}));
  EXPECT_EQ(getPlan(1, 131072, 131072, 16), (Plan{8192, 8192, 4}));
  EXPECT_EQ(getPlan(1, 4097, 4097, 64), (Plan{2048, 2048, 4}));
}

// What parts leave is merged in a tile, and long runs by bisection.
TEST(Sort, Merges) {
  EXPECT_TRUE(mergesInTile(32 * 50, 50, 32, 50, 32));
  EXPECT_EQ(getMergeTile(32 * 50, 50, 32).words, 2048);
  EXPECT_TRUE(mergesInTile(32 * 512, 512, 32, 512, 32));
  EXPECT_EQ(getMergeTile(32 * 512, 512, 32).words, 4096);
  EXPECT_TRUE(mergesInTile(1000, 512, 2, 512, 32));
  EXPECT_FALSE(mergesInTile(32 * 513, 513, 32, 513, 32));
  EXPECT_FALSE(mergesInTile(131072, 4096, 4, 131072, 32));
  EXPECT_FALSE(mergesInTile(100, 10, 10, 11, 32)); // kept of more than a run
  EXPECT_FALSE(mergesInTile(100, 10, 9, 10, 32));  // two are left
}
