// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An estimate is the cost of the best plan: for every pair of layouts of
// tensors with even, uneven and spare dimensions, with links and without.

#include "Enumerate.h"
#include "Notation.h"

#include "lib/Sharding/Reshard/ReshardEstimate.h"
#include "lib/Support/Random.h"

using namespace tp;
using namespace tp::test;

static void checkAllPairs(const Mesh &mesh,
                          llvm::ArrayRef<std::vector<int64_t>> shapes,
                          int64_t elementBytes) {
  AxisList digits = getPrimeDigits(mesh);
  ReshardPlanner planner(mesh);
  LayoutPool pool;
  ReshardEstimator estimator(mesh, pool);
  for (const std::vector<int64_t> &shape : shapes) {
    std::vector<TensorSharding> layouts;
    for (const DigitLayout &layout :
         getAllLayouts(digits.size(), shape.size(), /*withUnreduced=*/true))
      layouts.push_back(toSharding(layout, digits));
    for (const TensorSharding &from : layouts)
      for (const TensorSharding &to : layouts) {
        const ReshardPlan &plan = planner.plan(from, to, shape, elementBytes);
        ReshardEstimator::Estimate estimate =
            estimator.get(pool.getNumber(from), pool.getNumber(to),
                          estimator.getShape(shape, elementBytes));
        EXPECT_NEAR(estimate.cost, plan.cost, 1e-9 * plan.cost)
            << from.str(mesh) << " -> " << to.str(mesh) << ": "
            << plan.str(mesh);
        EXPECT_EQ(estimate.launches, plan.launches)
            << from.str(mesh) << " -> " << to.str(mesh) << ": "
            << plan.str(mesh);
      }
  }
}

// Some in two orders: these share a table.
static const std::vector<std::vector<int64_t>> kShapes = {
    {24},    {7},     {24, 12},     {12, 24},    {5, 24},
    {24, 5}, {1, 24}, {24, 12, 48}, {24, 7, 10}, {6, 6, 7}};

TEST(ReshardEstimate, TwoByTwo) { checkAllPairs(mesh("x2,y2"), kShapes, 4); }

TEST(ReshardEstimate, TwoByThree) { checkAllPairs(mesh("x2,y3"), kShapes, 2); }

// Tables of whole axes, then of their halves.
TEST(ReshardEstimate, FourByTwo) {
  checkAllPairs(mesh("x4,y2"), {{8}, {8, 24}, {7}, {6, 1, 10}}, 4);
}

// A half of x may be its first or its last.
TEST(ReshardEstimate, SixByTwo) {
  checkAllPairs(mesh("x6,y2"), {{12}, {7}, {12, 24}, {9, 2}}, 1);
}

// What is found along with others is what is found alone.
TEST(ReshardEstimate, SeveralAtOnce) {
  Mesh m = mesh("x2,y3,z4");
  AxisList digits = {AxisRef::full(m, 0), AxisRef::full(m, 1),
                     AxisRef::full(m, 2)};
  LayoutPool pool;
  std::vector<unsigned> layouts;
  for (const DigitLayout &layout :
       getAllLayouts(digits.size(), 3, /*withUnreduced=*/true))
    layouts.push_back(pool.getNumber(toSharding(layout, digits)));
  ReshardEstimator told(m, pool), untold(m, pool);
  for (const std::vector<int64_t> &sizes :
       {std::vector<int64_t>{24, 48, 24}, {5, 24, 1}}) {
    ReshardEstimator::Shape shape = told.getShape(sizes, 2);
    untold.getShape(sizes, 2);
    told.expect(layouts, shape);
    for (unsigned from : layouts)
      for (unsigned to : layouts) {
        ReshardEstimator::Estimate a = told.get(from, to, shape),
                                   b = untold.get(from, to, shape);
        EXPECT_EQ(a.cost, b.cost);
        EXPECT_EQ(a.launches, b.launches);
      }
  }
}

TEST(ReshardEstimate, WithLinks) {
  Mesh m = mesh("x2,y3");
  m.hasLinks = true;
  m.axes[0].link = {5e-6, 1 / 50e9};
  m.axes[1].link = {2e-6, 1 / 370e9};
  checkAllPairs(m, kShapes, 2);
}

namespace {

/// Random meshes of up to three axes, shapes and layouts on them.
class RandomReshards {
public:
  explicit RandomReshards(uint64_t seed) : random(seed) {}

  Mesh drawMesh() {
    Mesh m;
    m.name = "mesh";
    m.hasLinks = random.percent(50);
    for (unsigned axis = 0, count = random.draw(1, 3); axis < count; ++axis) {
      Axis &added = m.axes.emplace_back();
      added.name = std::string(1, 'x' + axis);
      added.size = random.pick({2, 3, 4, 6, 8});
      added.link = {1e-6 * double(random.draw(1, 10)),
                    1e-11 * double(random.draw(1, 10))};
    }
    return m;
  }
  std::vector<int64_t> drawShape(int64_t unit) {
    std::vector<int64_t> shape;
    for (unsigned dim = 0, rank = random.draw(1, 3); dim < rank; ++dim)
      shape.push_back(unit * random.draw(1, 9));
    return shape;
  }
  /// Axes go anywhere, in two parts if `cutAxes` and if they can.
  TensorSharding drawLayout(const Mesh &m, unsigned rank, bool cutAxes) {
    AxisList pieces;
    for (unsigned axis = 0; axis < m.axes.size(); ++axis) {
      int64_t size = m.axes[axis].size;
      if (cutAxes && size % 2 == 0 && size > 2 && random.percent(50)) {
        pieces.push_back({axis, 1, 2});
        pieces.push_back({axis, 2, size / 2});
      } else {
        pieces.push_back(AxisRef::full(m, axis));
      }
    }
    TensorSharding layout = TensorSharding::replicate(rank);
    AxisList unreduced;
    for (int64_t piece : random.permutation(pieces.size())) {
      unsigned place = random.below(rank + 2);
      if (place < rank)
        appendMerged(layout.dims[place].axes, pieces[piece]);
      else if (place == rank)
        unreduced.push_back(pieces[piece]);
    }
    layout.unreduced = getMerged(unreduced);
    layout.kind = random.pick({ReduceKind::Sum, ReduceKind::Max});
    return layout;
  }

  /// Unreduced after it is only what was unreduced before it.
  std::pair<TensorSharding, TensorSharding>
  drawReshard(const Mesh &m, unsigned rank, bool cutAxes) {
    TensorSharding from = drawLayout(m, rank, cutAxes),
                   to = drawLayout(m, rank, cutAxes);
    to.kind = from.kind;
    llvm::erase_if(to.unreduced, [&](const AxisRef &axis) {
      return llvm::none_of(from.unreduced, [&](const AxisRef &old) {
        return old.contains(axis);
      });
    });
    return {from, to};
  }

  Random random;
};

} // namespace

/// Never below the plan, and exactly that between layouts of whole axes.
static void checkRandomReshards(const Mesh &m, RandomReshards &draw,
                                bool cutAxes, unsigned count) {
  ReshardPlanner planner(m);
  LayoutPool pool;
  ReshardEstimator estimator(m, pool);
  std::vector<int64_t> shape =
      draw.drawShape(draw.random.pick<int64_t>({1, m.getNumDevices()}));
  int64_t elementBytes = draw.random.pick({1, 2, 4});
  for (unsigned i = 0; i < count; ++i) {
    auto [from, to] = draw.drawReshard(m, shape.size(), cutAxes);
    const ReshardPlan &plan = planner.plan(from, to, shape, elementBytes);
    ReshardEstimator::Estimate estimate =
        estimator.get(pool.getNumber(from), pool.getNumber(to),
                      estimator.getShape(shape, elementBytes));
    std::string what = from.str(m) + " -> " + to.str(m) + ": " + plan.str(m);
    EXPECT_GE(estimate.cost, (1 - 1e-9) * plan.cost) << what;
    if (cutAxes)
      continue;
    EXPECT_LE(estimate.cost, (1 + 1e-9) * plan.cost) << what;
    EXPECT_EQ(estimate.launches, plan.launches) << what;
  }
}

TEST(ReshardEstimate, IsThePlannedCostOfRandomReshards) {
  for (uint64_t seed : {2, 4}) { // with three spare dimensions
    RandomReshards draw(seed);
    for (unsigned trial = 0; trial < 100 / getThinning(); ++trial) {
      Mesh m = draw.drawMesh();
      checkRandomReshards(m, draw, draw.random.percent(40), 30);
    }
  }
}

// Axes of which parts trade places, and more axes than all arrangements of can
// be looked at.
TEST(ReshardEstimate, IsThePlannedCostAlongManyParts) {
  RandomReshards draw(1);
  for (const char *text :
       {"x2,y2,z2,u2,v2", "x4,y8,z2", "x8,y8,z8", "x3,y4,z5", "x2,y3,z4,u5"})
    for (bool hasLinks : {false, true}) {
      Mesh m = mesh(text);
      m.hasLinks = hasLinks;
      for (auto [number, axis] : llvm::enumerate(m.axes))
        axis.link = {1e-6 * double(number + 1), 1e-9 / double(number + 1)};
      for (unsigned trial = 0; trial < 3; ++trial)
        checkRandomReshards(m, draw, /*cutAxes=*/trial == 2, 15);
    }
}
