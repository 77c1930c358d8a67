// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Plan/PeakTree.h"

#include "lib/Support/Random.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace tp;
using namespace tp::plan;

namespace {

TEST(PeakTreeTest, IsTheMaximumOfARow) {
  Random random(1);
  for (size_t count : {1, 2, 3, 5, 8, 13, 64}) {
    PeakTree tree(count);
    std::vector<int64_t> row(count);
    for (unsigned trial = 0; trial < 200; ++trial) {
      size_t first = random.draw(0, count - 1);
      size_t last = random.draw(first, count - 1);
      int64_t amount = random.draw(-50, 100);
      tree.add(first, last, amount);
      for (size_t place = first; place <= last; ++place)
        row[place] += amount;
      // Places after the row hold nothing.
      auto largest = std::max_element(row.begin(), row.end());
      int64_t most = *largest;
      if (getTreeWidth(count) > count)
        most = std::max<int64_t>(most, 0);
      ASSERT_EQ(tree.getMax(), most);
      if (*largest == most) {
        ASSERT_EQ(tree.getMaxPlace(), size_t(largest - row.begin()));
      }
      size_t place = random.draw(0, count - 1);
      ASSERT_EQ(tree.get(place), row[place]);
    }
  }
}

TEST(PeakTreeTest, SumsDependOnTheNumbersAlone) {
  Random random(2);
  std::vector<double> row(100);
  SumTree<double> changed(row.size()), fresh(row.size());
  for (unsigned trial = 0; trial < 10000; ++trial) {
    size_t place = random.draw(0, 99);
    row[place] = 1.0 / double(random.draw(1, 1000));
    changed.set(place, row[place]);
  }
  for (size_t place = 0; place < row.size(); ++place)
    fresh.set(place, row[place]);
  EXPECT_EQ(changed.getSum(), fresh.getSum());
  EXPECT_NEAR(changed.getSum(), std::accumulate(row.begin(), row.end(), 0.0),
              1e-12);
}

} // namespace
