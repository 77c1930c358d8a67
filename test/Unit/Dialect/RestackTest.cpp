// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a reshape moves, against the devices that hold its elements.

#include "dialects/TP/Restack.h"

#include "gtest/gtest.h"

using namespace tp;

namespace {

using Shape = llvm::SmallVector<int64_t>;

/// Along the first dimension.
TensorSharding cut(size_t rank, int64_t devices) {
  TensorSharding sharding = TensorSharding::replicate(rank);
  sharding.dims[0].axes.push_back({0, 1, devices});
  return sharding;
}

/// The device that has each element, where the first dimension is cut.
std::vector<int64_t> getHolders(const Shape &shape, int64_t devices) {
  int64_t behind = 1;
  for (int64_t size : llvm::ArrayRef(shape).drop_front())
    behind *= size;
  std::vector<int64_t> holders;
  for (int64_t row = 0; row < shape[0]; ++row)
    holders.insert(holders.end(), behind,
                   row / BlockLayout{shape[0], devices}.block());
  return holders;
}

// Every way between these shapes of up to 72 elements on up to 8 devices: the
// blocks are those that devices hold, and there are none where they coincide.
TEST(Restack, BlocksAreWhatDevicesHold) {
  unsigned moving = 0, coinciding = 0;
  for (int64_t a = 1; a <= 9; ++a)
    for (int64_t b = 1; b <= 8; ++b)
      for (int64_t c : {1, 2, 3}) {
        const Shape shapes[] = {
            {a * b * c}, {a, b, c}, {a * b, c}, {a, b * c}, {a, 1, b * c}};
        for (const Shape &from : shapes)
          for (const Shape &to : shapes)
            for (int64_t devices = 2; devices <= 8; ++devices) {
              // A dimension of one element is not the one that is cut.
              if (from[0] == 1 || to[0] == 1)
                continue;
              auto restacks = getRestacks(from, cut(from.size(), devices), to,
                                          cut(to.size(), devices));
              std::vector<int64_t> have = getHolders(from, devices);
              std::vector<int64_t> need = getHolders(to, devices);
              ASSERT_EQ(restacks.empty(), have == need)
                  << a << ' ' << b << ' ' << c << " on " << devices;
              if (restacks.empty()) {
                ++coinciding;
                continue;
              }
              ASSERT_EQ(restacks.size(), 1u);
              const Restack &restack = restacks.front();
              EXPECT_EQ(restack.inputBegin, 0u);
              EXPECT_EQ(restack.resultBegin, 0u);
              int64_t elements = 1, made = 1;
              for (unsigned i = 0; i < restack.inputEnd; ++i)
                elements *= from[i];
              for (unsigned i = 0; i < restack.resultEnd; ++i)
                made *= to[i];
              EXPECT_EQ(elements, made);
              EXPECT_EQ(elements, restack.from.n);
              int64_t each = int64_t(have.size()) / elements;
              for (size_t i = 0; i < have.size(); ++i) {
                ASSERT_EQ(int64_t(i) / each / restack.from.size, have[i]);
                ASSERT_EQ(int64_t(i) / each / restack.to.size, need[i]);
              }
              ++moving;
            }
      }
  EXPECT_GT(moving, 1000u);
  EXPECT_GT(coinciding, 1000u);
}

// Other dimensions before, between and behind stay what they are.
TEST(Restack, EachSplitDimensionHasItsOwn) {
  TensorSharding from = TensorSharding::replicate(4);
  TensorSharding to = TensorSharding::replicate(6);
  from.dims[1].axes = to.dims[1].axes = {{0, 1, 2}};
  from.dims[2].axes = to.dims[3].axes = {{1, 1, 4}};
  auto restacks = getRestacks({5, 27, 35, 2}, from, {5, 9, 3, 7, 5, 2}, to);
  ASSERT_EQ(restacks.size(), 2u);
  EXPECT_EQ(restacks[0].inputBegin, 1u);
  EXPECT_EQ(restacks[0].resultEnd, 3u);
  EXPECT_EQ(restacks[0].from.size, 14);
  EXPECT_EQ(restacks[0].to.size, 15);
  EXPECT_EQ(restacks[1].inputBegin, 2u);
  EXPECT_EQ(restacks[1].resultBegin, 3u);
  EXPECT_EQ(restacks[1].from.size, 9);
  EXPECT_EQ(restacks[1].to.size, 10);
}

} // namespace
