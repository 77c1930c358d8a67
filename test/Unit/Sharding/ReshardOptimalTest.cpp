// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Plans cost what a reference finds that shares no code with the planner: it
// lists all shardings over the prime digits, decides for every pair whether one
// step leads from one to the other, and takes shortest paths between all pairs
// (Floyd and Warshall). Cost and launches must be equal for every pair.

#include "Enumerate.h"
#include "Notation.h"

#include "tpopt/Sharding/Reshard.h"

#include <cmath>
#include <numeric>

using namespace tp;
using namespace tp::test;

namespace {

using List = std::vector<unsigned>;
using Set = unsigned;

/// Bytes sent per device, or seconds, and launches.
struct Price {
  double cost = 1e300;
  int launches = 1 << 20;
  bool operator<(const Price &o) const {
    double slack = 1e-9 * std::min(cost, o.cost);
    if (std::abs(cost - o.cost) > slack)
      return cost < o.cost;
    return launches < o.launches;
  }
  Price operator+(const Price &o) const {
    return {cost + o.cost, launches + o.launches};
  }
};

class Reference {
public:
  /// Paths among shardings that use digits in `used` only and become unreduced
  /// along `target` only.
  Reference(const Mesh &mesh, std::vector<int64_t> shape, Set used, Set target,
            bool withUnreduced = true)
      : mesh(mesh), shape(shape), digits(getPrimeDigits(mesh)), target(target) {
    for (DigitLayout &layout :
         getAllLayouts(digits.size(), shape.size(), withUnreduced))
      if ((getUsed(layout) & ~used) == 0)
        states.push_back(std::move(layout));
    size_t n = states.size();
    prices.assign(n * n, {});
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < n; ++b)
        if (std::optional<Price> price =
                a == b ? Price{0, 0} : getStep(states[a], states[b]))
          prices[a * n + b] = *price;
    for (size_t via = 0; via < n; ++via)
      for (size_t a = 0; a < n; ++a) {
        if (prices[a * n + via].cost > 1e299)
          continue;
        for (size_t b = 0; b < n; ++b) {
          Price sum = prices[a * n + via] + prices[via * n + b];
          if (sum < prices[a * n + b])
            prices[a * n + b] = sum;
        }
      }
  }

  /// Compares the plans of every `every`th pair that uses just `used` and ends
  /// unreduced along just `target`.
  void check(ReshardPlanner &planner, Set used, int &checked,
             unsigned every = 1) {
    size_t n = states.size();
    unsigned seen = 0;
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < n; ++b) {
        if ((getUsed(states[a]) | getUsed(states[b])) != used ||
            toSet(states[b].unreduced) != target || seen++ % every != 0)
          continue;
        TensorSharding from = toSharding(states[a], digits);
        TensorSharding to = toSharding(states[b], digits);
        const ReshardPlan &plan = planner.plan(from, to, shape, 4);
        const Price &price = prices[a * n + b];
        ++checked;
        EXPECT_TRUE(plan.complete);
        ASSERT_NEAR(plan.cost, price.cost, 1e-9 * price.cost + 1e-11)
            << from.str(mesh) << " to " << to.str(mesh) << ": "
            << plan.str(mesh);
        ASSERT_EQ(plan.launches, price.launches)
            << from.str(mesh) << " to " << to.str(mesh) << ": "
            << plan.str(mesh);
      }
  }

  static Set toSet(const List &list) {
    Set set = 0;
    for (unsigned digit : list)
      set |= 1u << digit;
    return set;
  }
  static Set getUsed(const DigitLayout &layout) {
    Set used = toSet(layout.unreduced);
    for (const List &list : layout.dims)
      used |= toSet(list);
    return used;
  }

private:
  int64_t getSize(const List &list) const {
    int64_t size = 1;
    for (unsigned digit : list)
      size *= digits[digit].size;
    return size;
  }
  int64_t getSize(Set set) const {
    int64_t size = 1;
    for (unsigned digit = 0; digit < digits.size(); ++digit)
      if (set >> digit & 1)
        size *= digits[digit].size;
    return size;
  }
  static bool startsWith(const List &list, const List &prefix) {
    return prefix.size() <= list.size() &&
           std::equal(prefix.begin(), prefix.end(), list.begin());
  }
  int64_t getBlock(unsigned dim, int64_t k) const {
    return (shape[dim] + k - 1) / k;
  }
  bool boundariesCoincide(unsigned dim, int64_t fewer, int64_t more) const {
    return fewer == 1 ||
           getBlock(dim, fewer) == more / fewer * getBlock(dim, more);
  }

  Price getPrice(Set group, double wire) const {
    if (!mesh.hasLinks)
      return {4 * wire, 1};
    double alpha = 0, beta = 0;
    for (unsigned digit = 0; digit < digits.size(); ++digit)
      if (group >> digit & 1) {
        alpha = std::max(alpha, mesh.axes[digits[digit].axis].link.alpha);
        beta = std::max(beta, mesh.axes[digits[digit].axis].link.beta);
      }
    return {alpha + beta * 4 * wire, 1};
  }

  /// The digits whose coordinates change if whole blocks move.
  Set getMoved(const DigitLayout &a, const DigitLayout &b) const {
    auto getPlace = [&](const DigitLayout &layout, unsigned digit) {
      for (size_t dim = 0; dim < layout.dims.size(); ++dim) {
        const List &list = layout.dims[dim];
        auto it = std::find(list.begin(), list.end(), digit);
        if (it != list.end())
          return std::pair<int64_t, int64_t>(
              dim, getSize(List(std::next(it), list.end())));
      }
      return std::pair<int64_t, int64_t>(-1,
                                         toSet(layout.unreduced) >> digit & 1);
    };
    Set moved = 0;
    for (unsigned digit = 0; digit < digits.size(); ++digit)
      if (getPlace(a, digit) != getPlace(b, digit))
        moved |= 1u << digit;
    return moved;
  }

  std::optional<Price> getStep(const DigitLayout &a,
                               const DigitLayout &b) const {
    Set ua = toSet(a.unreduced), ub = toSet(b.unreduced);
    bool shrinks = true, grows = true, related = true, sameCounts = true;
    bool coincide = true, sameDims = a.dims == b.dims;
    Set da = 0, db = 0;
    double local = 1, share = 1;
    for (unsigned dim = 0; dim < shape.size(); ++dim) {
      const List &la = a.dims[dim], &lb = b.dims[dim];
      int64_t ka = getSize(la), kb = getSize(lb);
      shrinks &= startsWith(la, lb);
      grows &= startsWith(lb, la);
      related &= startsWith(la, lb) || startsWith(lb, la);
      sameCounts &= ka == kb;
      coincide &= boundariesCoincide(dim, std::min(ka, kb), std::max(ka, kb));
      local *= getBlock(dim, ka);
      share *= getBlock(dim, std::max(ka, kb));
      da |= toSet(la);
      db |= toSet(lb);
    }
    std::optional<Price> best;
    auto offer = [&](Price price) {
      if (!best || price < *best)
        best = price;
    };
    if (coincide && grows && ua == ub)
      offer({0, 0}); // slice
    if (coincide && shrinks && (ua & ~ub) == 0 && (ub & ~ua & ~target) == 0 &&
        (da & ~db & ~ub) == 0)
      offer({0, 0}); // to partial
    if (coincide && shrinks && ua == ub)
      offer(getPrice(da & ~db, (getSize(da & ~db) - 1) * local));
    if (coincide && related && da == db && ua == ub) {
      Set moved = 0;
      for (unsigned dim = 0; dim < shape.size(); ++dim)
        moved |= toSet(a.dims[dim]) & ~toSet(b.dims[dim]);
      offer(getPrice(moved, (getSize(moved) - 1) * share));
    }
    if (sameCounts && getSize(ua) == getSize(ub))
      offer(getPrice(getMoved(a, b), local));
    if (sameDims && (ub & ~ua) == 0) {
      double g = getSize(ua & ~ub);
      offer(getPrice(ua & ~ub, 2 * (g - 1) / g * local));
    }
    if (coincide && grows && (ub & ~ua) == 0 && (db & ~da) == (ua & ~ub))
      offer(getPrice(ua & ~ub, (getSize(ua & ~ub) - 1) * share));
    return best;
  }

  const Mesh &mesh;
  std::vector<int64_t> shape;
  AxisList digits;
  Set target;
  std::vector<DigitLayout> states;
  std::vector<Price> prices;
};

/// Compares all pairs, or one of `every`; `used` and `target` run over all
/// sets.
void checkAll(const Mesh &mesh, std::vector<int64_t> shape, int &checked,
              unsigned every = 1) {
  ReshardPlanner planner(mesh);
  Set all = (1u << getPrimeDigits(mesh).size()) - 1;
  for (Set used = 0; used <= all; ++used)
    for (Set target = 0; target <= used; ++target)
      if ((target & ~used) == 0)
        Reference(mesh, shape, used, target)
            .check(planner, used, checked, every);
}

// With sub-axes and unreduced values.
TEST(ReshardOptimal, AllPairsOfRankThree) {
  int checked = 0, every = getThinning(), all = 4 * (176 * 176 + 28 * 28);
  for (const char *text : {"x2,y4", "x2,y3"})
    for (const std::vector<int64_t> &shape : kRankThree)
      checkAll(mesh(text), shape, checked, every);
  EXPECT_GE(checked, all / every);
  EXPECT_LE(checked, all);
}

// With sub-axes; a sample, unless all are asked for, which takes minutes.
TEST(ReshardOptimal, RankThreeOnSixteenDevices) {
  Mesh m = mesh("x4,y4");
  unsigned every = isExhaustive() ? 1 : 61 * getThinning();
  int checked = 0;
  for (const std::vector<int64_t> &shape : kRankThree)
    for (Set used = 0; used < 16; ++used) {
      ReshardPlanner planner(m);
      Reference(m, shape, used, 0, /*withUnreduced=*/false)
          .check(planner, used, checked, every);
    }
  EXPECT_GE(checked, int(4 * 685 * 685 / every));
}

TEST(ReshardOptimal, AllPairsOfRankTwo) {
  int checked = 0;
  for (const char *text : {"x2,y2", "x2,y3", "x4,y2", "x4,y3"})
    for (std::vector<int64_t> shape :
         {std::vector<int64_t>{24, 24}, {16, 16}, {10, 10}, {16, 6}, {5, 48}})
      checkAll(mesh(text), shape, checked);
  EXPECT_EQ(checked, 5 * (18 * 18 + 18 * 18 + 92 * 92 + 92 * 92));
}

TEST(ReshardOptimal, AllPairsOfRankOneAndThree) {
  int checked = 0;
  for (const char *text : {"x2,y2", "x2,y3", "x4"}) {
    checkAll(mesh(text), {24}, checked);
    checkAll(mesh(text), {10}, checked);
    checkAll(mesh(text), {12, 12, 12}, checked);
    checkAll(mesh(text), {10, 6, 7}, checked);
  }
  checkAll(mesh("x4,y2"), {16, 16, 16}, checked);
  EXPECT_GT(checked, 30000);
}

// Links of different speed and latency: what is cheapest depends on the axis.
TEST(ReshardOptimal, Links) {
  int checked = 0;
  for (const char *text : {"x2,y2", "x4,y2", "x2,y3"}) {
    Mesh m = mesh(text);
    m.hasLinks = true;
    m.axes[0].link = {5e-6, 1 / 50e9};
    m.axes[1].link = {2e-6, 1 / 370e9};
    checkAll(m, {16, 16}, checked);
    checkAll(m, {1000, 240}, checked);
    checkAll(m, {4096, 8192}, checked);
  }
  EXPECT_EQ(checked, 3 * (18 * 18 + 92 * 92 + 18 * 18));
}

} // namespace
