// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Sharding/Algebra/LayoutPool.h"
#include "Enumerate.h"
#include "Notation.h"

#include "gtest/gtest.h"

using namespace tp;
using namespace tp::test;

namespace {

/// Each layout once, in the order in which they come, and none for another's
/// number.
TEST(LayoutPool, NumbersEveryLayout) {
  AxisList digits = getPrimeDigits(mesh("x4,y3"));
  std::vector<TensorSharding> layouts;
  for (unsigned rank : {1, 2})
    for (const DigitLayout &layout : getAllLayouts(digits.size(), rank, true))
      layouts.push_back(toSharding(layout, digits));
  LayoutPool pool;
  std::vector<unsigned> numbers;
  for (const TensorSharding &layout : layouts)
    numbers.push_back(pool.getNumber(layout));
  std::vector<TensorSharding> distinct;
  for (auto [layout, number] : llvm::zip_equal(layouts, numbers)) {
    EXPECT_EQ(pool.getNumber(layout), number);
    EXPECT_EQ(pool.get(number), layout.getLayout());
    if (number == distinct.size())
      distinct.push_back(layout.getLayout());
    ASSERT_LT(number, distinct.size());
    EXPECT_EQ(distinct[number], layout.getLayout());
  }
}

/// What propagation may still do with a tensor is no part of its layout, and
/// neither is how parts of an axis are written.
TEST(LayoutPool, LooksAtLayoutsAlone) {
  LayoutPool pool;
  TensorSharding rows = TensorSharding::replicate(2);
  rows.dims[0].axes = {{0, 1, 4}};
  unsigned number = pool.getNumber(rows);
  TensorSharding open = rows;
  open.dims[1].open = true;
  open.dims[0].priority = 1;
  open.replicated = {{1, 1, 3}};
  EXPECT_EQ(pool.getNumber(open), number);
  TensorSharding parts = rows;
  parts.dims[0].axes = {{0, 1, 2}, {0, 2, 2}};
  EXPECT_EQ(pool.getNumber(parts), number);
  TensorSharding partial = TensorSharding::replicate(2);
  partial.unreduced = {{0, 1, 4}};
  unsigned sum = pool.getNumber(partial);
  EXPECT_NE(sum, number);
  partial.kind = ReduceKind::Max;
  EXPECT_NE(pool.getNumber(partial), sum);
}

TEST(LayoutPool, ListsAreKeptOnce) {
  LayoutPool pool;
  const LayoutList &list = pool.getList({2, 0});
  for (unsigned i = 0; i < 100; ++i)
    pool.getList({i});
  EXPECT_EQ(&pool.getList({2, 0}), &list);
  EXPECT_NE(&pool.getList({0, 2}), &list);
  EXPECT_EQ(list, (LayoutList{2, 0}));
}

} // namespace
