// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The algebra of axes and sub-axes, compared with what the words mean on the
// devices: for all sub-axes of all axes up to 24 devices.

#include "Notation.h"

#include <functional>
#include <set>

using namespace tp;
using namespace tp::test;

namespace {

/// The axis sizes that exhaustive tests go through: all up to 24.
constexpr int64_t maxSize = 24;

std::vector<AxisRef> getAllRefs(int64_t size) {
  std::vector<AxisRef> refs;
  for (int64_t pre = 1; pre <= size; ++pre)
    for (int64_t part = 2; pre * part <= size; ++part)
      if (size % (pre * part) == 0)
        refs.push_back({0, pre, part});
  return refs;
}

/// The digit of coordinate `c` along `ref`.
int64_t digit(const AxisRef &ref, int64_t size, int64_t c) {
  return c / (size / ref.end()) % ref.size;
}

/// All ways to write `size` as an ordered product, as the positions between the
/// factors, 1 and `size` included.
std::vector<std::set<int64_t>> getFactorisations(int64_t size) {
  std::vector<std::set<int64_t>> all;
  std::function<void(std::set<int64_t>, int64_t)> extend =
      [&](std::set<int64_t> cuts, int64_t last) {
        cuts.insert(last);
        if (last == size)
          all.push_back(cuts);
        for (int64_t next = 2 * last; next <= size; next += last)
          if (size % next == 0)
            extend(cuts, next);
      };
  extend({}, 1);
  return all;
}

/// Whether equal digits along `a` mean equal digits along `b`.
bool determines(const AxisRef &a, const AxisRef &b, int64_t size) {
  std::vector<int64_t> seen(a.size, -1);
  for (int64_t c = 0; c < size; ++c) {
    int64_t &value = seen[digit(a, size, c)];
    if (value >= 0 && value != digit(b, size, c))
      return false;
    value = digit(b, size, c);
  }
  return true;
}

/// The number of different pairs of digits.
size_t countPairs(const AxisRef &a, const AxisRef &b, int64_t size) {
  std::set<std::pair<int64_t, int64_t>> pairs;
  for (int64_t c = 0; c < size; ++c)
    pairs.insert({digit(a, size, c), digit(b, size, c)});
  return pairs.size();
}

template <typename Fn> void forAllPairs(Fn fn) {
  for (int64_t size = 2; size <= maxSize; ++size) {
    std::vector<AxisRef> refs = getAllRefs(size);
    for (const AxisRef &a : refs)
      for (const AxisRef &b : refs) {
        SCOPED_TRACE(testing::Message()
                     << "size " << size << ": (" << a.pre << ")" << a.size
                     << " and (" << b.pre << ")" << b.size);
        fn(size, a, b);
        if (testing::Test::HasFailure())
          return;
      }
  }
}

// Devices are numbered row-major, first axis slowest, and back.
TEST(Mesh, NumbersDevicesRowMajor) {
  Mesh m = mesh("x2,y4");
  EXPECT_EQ(m.getNumDevices(), 8);
  EXPECT_EQ(m.getNumber({1, 2}), 6);
  for (const char *text : {"x2,y4", "x3", "x1,y5,z2", "a2,b3,c4"}) {
    m = mesh(text);
    for (int64_t device = 0; device < m.getNumDevices(); ++device)
      EXPECT_EQ(m.getNumber(m.getCoordinates(device)), device);
  }
  EXPECT_EQ(m.find("b"), 1u);
  EXPECT_EQ(m.find("d"), std::nullopt);
}

// Two sub-axes can coexist if some ordered product has both as runs of factors.
TEST(AxisRef, CanCoexist) {
  for (int64_t size = 2; size <= maxSize; ++size) {
    auto factorisations = getFactorisations(size);
    for (const AxisRef &a : getAllRefs(size))
      for (const AxisRef &b : getAllRefs(size)) {
        bool expected = llvm::any_of(factorisations, [&](const auto &cuts) {
          return cuts.count(a.pre) && cuts.count(a.end()) &&
                 cuts.count(b.pre) && cuts.count(b.end());
        });
        EXPECT_EQ(a.canCoexist(b), expected);
      }
  }
}

// To contain is to determine the digit.
TEST(AxisRef, Contains) {
  forAllPairs([](int64_t size, AxisRef a, AxisRef b) {
    if (a.canCoexist(b))
      EXPECT_EQ(a.contains(b), determines(a, b, size));
    else
      EXPECT_FALSE(a.contains(b));
    EXPECT_EQ(a.hasPrefix(b), a.contains(b) && a.pre == b.pre);
  });
}

// The overlap is what both determine, and the larger it is the fewer pairs of
// digits there are.
TEST(AxisRef, Overlap) {
  forAllPairs([](int64_t size, AxisRef a, AxisRef b) {
    EXPECT_EQ(a.overlaps(b), b.overlaps(a));
    std::optional<AxisRef> overlap = a.getOverlap(b);
    EXPECT_EQ(overlap, b.getOverlap(a));
    EXPECT_EQ(overlap.has_value(), a.overlaps(b) && a.canCoexist(b));
    int64_t common = 1;
    if (overlap) {
      EXPECT_TRUE(determines(a, *overlap, size));
      EXPECT_TRUE(determines(b, *overlap, size));
      common = overlap->size;
    }
    if (a.canCoexist(b))
      EXPECT_EQ(countPairs(a, b, size) * common, size_t(a.size * b.size));
  });
}

// What follows makes one sub-axis whose digit is both digits.
TEST(AxisRef, Merge) {
  forAllPairs([](int64_t size, AxisRef a, AxisRef b) {
    EXPECT_EQ(a.canMerge(b), a.end() == b.pre);
    if (a.canMerge(b))
      for (int64_t c = 0; c < size; ++c)
        EXPECT_EQ(digit(a.merge(b), size, c),
                  digit(a, size, c) * b.size + digit(b, size, c));
  });
}

// The longest prefix that leaves `b` alone.
TEST(AxisRef, PrefixWithoutOverlap) {
  forAllPairs([](int64_t size, AxisRef a, AxisRef b) {
    std::optional<AxisRef> expected;
    for (const AxisRef &prefix : getAllRefs(size))
      if (a.hasPrefix(prefix) && !prefix.overlaps(b) &&
          (prefix == a || prefix.canMerge(b)) &&
          (!expected || expected->size < prefix.size))
        expected = prefix;
    EXPECT_EQ(a.getPrefixWithoutOverlap(b), expected);
  });
}

TEST(AxisRef, OtherAxesHaveNothingInCommon) {
  AxisRef x = {0, 1, 4}, y = {1, 1, 4};
  EXPECT_FALSE(x.overlaps(y));
  EXPECT_FALSE(x.contains(y));
  EXPECT_FALSE(x.canMerge({1, 4, 2}));
  EXPECT_TRUE(x.canCoexist({1, 2, 3}));
  EXPECT_EQ(x.getPrefixWithoutOverlap(y), x);
  EXPECT_TRUE(x < y);
}

TEST(AxisRef, Prints) {
  Mesh m = mesh("x8,y2");
  std::string text;
  llvm::raw_string_ostream os(text);
  axis(m, "x:(2)4").print(os, m);
  os << ' ';
  axis(m, "y").print(os, m, /*quoted=*/false);
  os << ' ';
  printAxes(os, m, axes(m, "y,x:(1)2"));
  EXPECT_EQ(text, R"("x":(2)4 y {"y", "x":(1)2})");
}

TEST(AxisList, CommonPrefix) {
  Mesh m = mesh("x8,y2,z6");
  auto common = [&](const char *a, const char *b) {
    return getCommonPrefix(axes(m, a), axes(m, b));
  };
  EXPECT_EQ(common("x,y", "x,z"), axes(m, "x"));
  EXPECT_EQ(common("x:(1)4", "x:(1)2,y"), axes(m, "x:(1)2"));
  EXPECT_EQ(common("y,x", "y,x:(1)4"), axes(m, "y,x:(1)4"));
  EXPECT_EQ(common("x", "y"), AxisList());
  EXPECT_EQ(common("x:(2)2", "x:(1)2"), AxisList());
  // Digits of 2 and digits of 3 share nothing.
  EXPECT_EQ(common("z:(1)2", "z:(1)3"), AxisList());
}

TEST(AxisList, PrefixesAndSuffixes) {
  Mesh m = mesh("x8,y2,z3");
  EXPECT_EQ(dropPrefix(axes(m, "y,x"), axes(m, "y")), axes(m, "x"));
  EXPECT_EQ(dropPrefix(axes(m, "y,x"), axes(m, "y,x:(1)2")), axes(m, "x:(2)4"));
  EXPECT_EQ(dropSuffix(axes(m, "y,x"), axes(m, "x:(4)2")), axes(m, "y,x:(1)4"));
  EXPECT_EQ(dropSuffix(axes(m, "y,x"), axes(m, "x")), axes(m, "y"));
  EXPECT_EQ(dropSuffix(axes(m, "z,y,x"), axes(m, "y,x")), axes(m, "z"));
  EXPECT_EQ(dropSuffix(axes(m, "y,x"), {}), axes(m, "y,x"));
  EXPECT_EQ(dropSuffix(axes(m, "y,x"), axes(m, "y")), std::nullopt);
  EXPECT_EQ(dropSuffix(axes(m, "y,x"), axes(m, "x:(1)2")), std::nullopt);
  EXPECT_EQ(dropSuffix(axes(m, "y"), axes(m, "x,y")), std::nullopt);
}

// What a prefix takes away at the front and a suffix at the back is the list,
// for all cuts of all lists of sub-axes of x8.
TEST(AxisList, CutsAreComplementary) {
  AxisList digits = {{0, 1, 2}, {0, 2, 2}, {0, 4, 2}};
  std::vector<unsigned> order = {0, 1, 2};
  do {
    AxisList list;
    for (unsigned i : order)
      appendMerged(list, digits[i]);
    for (unsigned cut = 0; cut <= 3; ++cut) {
      AxisList front, back;
      for (unsigned i = 0; i < 3; ++i)
        appendMerged(i < cut ? front : back, digits[order[i]]);
      EXPECT_EQ(getCommonPrefix(list, front), front);
      EXPECT_EQ(dropPrefix(list, front), back);
      EXPECT_EQ(dropSuffix(list, back), front);
      EXPECT_EQ(subtract(getMerged(list), front), getMerged(back));
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(AxisList, Sets) {
  Mesh m = mesh("x8,y2,u1");
  EXPECT_EQ(getMerged(axes(m, "x:(4)2,y,u,x:(1)2,x:(2)2")), axes(m, "x,y"));
  EXPECT_EQ(subtract(axes(m, "x,y"), axes(m, "x:(2)2")),
            axes(m, "x:(1)2,x:(4)2,y"));
  EXPECT_EQ(subtract(axes(m, "x,y"), axes(m, "y,u")), axes(m, "x"));
  EXPECT_EQ(subtract(axes(m, "x:(1)2"), axes(m, "x")), std::nullopt);
  EXPECT_TRUE(overlap(axes(m, "y,x:(1)4"), axes(m, "x:(2)4")));
  EXPECT_FALSE(overlap(axes(m, "y,x:(1)2"), axes(m, "x:(2)4")));
  EXPECT_EQ(getSize(axes(m, "y,x:(2)4,u")), 8);
  EXPECT_EQ(getSize({}), 1);
}

// x of size 8 as 2 x 2 x 2, as the header shows it.
TEST(AxisList, Positions) {
  Mesh m = mesh("x8");
  for (int64_t device = 0; device < 8; ++device) {
    EXPECT_EQ(getPosition(m, axes(m, "x:(1)2"), device), device / 4);
    EXPECT_EQ(getPosition(m, axes(m, "x:(2)2"), device), device / 2 % 2);
    EXPECT_EQ(getPosition(m, axes(m, "x:(4)2"), device), device % 2);
    EXPECT_EQ(getPosition(m, axes(m, "x:(4)2,x:(1)2"), device),
              device % 2 * 2 + device / 4);
    EXPECT_EQ(getPosition(m, {}, device), 0);
  }
}

TEST(AxisList, Groups) {
  Mesh m = mesh("x2,y4");
  using Groups = llvm::SmallVector<llvm::SmallVector<int64_t>>;
  EXPECT_EQ(getGroups(m, axes(m, "x")),
            (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(getGroups(m, axes(m, "y:(2)2,x")),
            (Groups{{0, 4, 1, 5}, {2, 6, 3, 7}}));
  EXPECT_EQ(getGroups(m, {}).size(), 8u);
  // Every device is in one group, at its position.
  for (const char *list : {"x", "y", "y:(1)2", "y:(2)2,x", "x,y"})
    for (const auto &group : getGroups(m, axes(m, list)))
      for (auto [position, device] : llvm::enumerate(group))
        EXPECT_EQ(getPosition(m, axes(m, list), device), int64_t(position));
}

} // namespace
