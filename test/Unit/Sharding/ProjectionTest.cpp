// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Projection onto factors, exhaustively on small meshes: against the identity,
// and against the elements that each device really holds.

#include "ProgramNotation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <set>

using namespace tp;
using namespace tp::test;

namespace {

const char *const meshes[] = {"a2,b2", "a4,b2", "a3,b2", "a6",
                              "a8",    "a12",   "a4,b3", "a2,b3,c2"};

/// Every sub-axis of every axis.
AxisList getSubAxes(const Mesh &mesh) {
  AxisList all;
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis)
    for (int64_t pre = 1, n = mesh.axes[axis].size; pre < n; ++pre)
      for (int64_t size = 2; pre * size <= n; ++size)
        if (n % (pre * size) == 0)
          all.push_back({axis, pre, size});
  return all;
}

bool isValid(const Mesh &mesh, const TensorSharding &sharding) {
  return !verify(sharding, mesh, sharding.getRank());
}

/// All valid shardings of a tensor of `rank` with up to `maxAxes` axes.
void forEachSharding(const Mesh &mesh, unsigned rank, unsigned maxAxes,
                     llvm::function_ref<void(const TensorSharding &)> visit) {
  AxisList all = getSubAxes(mesh);
  std::function<void(TensorSharding &, unsigned, unsigned)> extend =
      [&](TensorSharding &sharding, unsigned dim, unsigned left) {
        visit(sharding);
        // Axes are added in dimension order, so that each one comes once.
        for (; left > 0 && dim < rank; ++dim)
          for (const AxisRef &axis : all) {
            sharding.dims[dim].axes.push_back(axis);
            if (isValid(mesh, sharding))
              extend(sharding, dim, left - 1);
            sharding.dims[dim].axes.pop_back();
          }
      };
  TensorSharding sharding = TensorSharding::replicate(rank, true);
  extend(sharding, 0, maxAxes);
}

/// A rule with one tensor of one dimension, made of factors of these sizes.
ShardingRule makeDimRule(llvm::ArrayRef<int64_t> sizes) {
  RuleBuilder builder(1, 1);
  llvm::SmallVector<unsigned> factors;
  for (int64_t size : sizes)
    factors.push_back(builder.addFactor(size));
  builder.addDim(0, factors);
  builder.addDim(1, factors);
  return builder.build();
}

const Shape dimensions[] = {{8},       {5},    {2, 4},    {4, 4},
                            {3, 2},    {6, 4}, {2, 2, 3}, {1, 6},
                            {4, 1, 2}, {2, 8}, {12, 3},   {2, 6, 2},
                            {7, 3},    {7, 2}, {1, 5, 2}, {11, 1, 3}};

TEST(Projection, ThereAndBackIsTheIdentity) {
  uint64_t cases = 0;
  for (const char *text : meshes) {
    Mesh mesh = test::mesh(text);
    for (const Shape &sizes : dimensions) {
      ShardingRule rule = makeDimRule(sizes);
      forEachSharding(mesh, 1, 3, [&](const TensorSharding &sharding) {
        TensorProjection projection = project(rule, 0, sharding);
        EXPECT_EQ(unproject(rule, 0, projection, sharding), sharding)
            << show(mesh, sharding);
        ++cases;
      });
    }
  }
  EXPECT_GT(cases, 1000u);
}

/// The elements of a dimension that a device holds, by its factors: each factor
/// is cut by its own axes.
std::set<int64_t> getByFactors(const Mesh &mesh, const ShardingRule &rule,
                               const DimFactors &dim,
                               llvm::ArrayRef<AxisList> axes, int64_t device) {
  std::set<int64_t> elements = {0};
  for (unsigned f : dim) {
    BlockLayout blocks{rule.factors[f].size, getSize(axes[f])};
    int64_t place = getPosition(mesh, axes[f], device);
    std::set<int64_t> next;
    for (int64_t element : elements)
      for (int64_t i = 0; i < blocks.valid(place); ++i)
        next.insert(element * blocks.n + blocks.begin(place) + i);
    elements = next;
  }
  return elements;
}

/// The same by the sharding of the dimension: flat blocks.
std::set<int64_t> getByBlocks(const Mesh &mesh, int64_t size,
                              llvm::ArrayRef<AxisRef> axes, int64_t device) {
  BlockLayout blocks{size, getSize(axes)};
  int64_t place = getPosition(mesh, axes, device);
  std::set<int64_t> elements;
  for (int64_t i = 0; i < blocks.valid(place); ++i)
    elements.insert(blocks.begin(place) + i);
  return elements;
}

llvm::SmallVector<AxisList> getAxes(const TensorProjection &projection) {
  llvm::SmallVector<AxisList> axes;
  for (const FactorSharding &factor : projection)
    axes.push_back(factor.axes);
  return axes;
}

TEST(Projection, WhatItSaysIsWhatEveryDeviceHolds) {
  uint64_t cases = 0;
  for (const char *text : meshes) {
    Mesh mesh = test::mesh(text);
    for (const Shape &sizes : dimensions) {
      ShardingRule rule = makeDimRule(sizes);
      int64_t size = 1;
      for (int64_t factor : sizes)
        size *= factor;
      forEachSharding(mesh, 1, 3, [&](const TensorSharding &sharding) {
        TensorProjection projection = project(rule, 0, sharding);
        // With overflow the factors tell the truth about what is left when the
        // overflow is gathered.
        AxisList axes = sharding.dims[0].axes;
        for (const FactorSharding &factor : projection)
          if (!factor.overflow.empty()) {
            TensorProjection gathered = projection;
            for (FactorSharding &f : gathered)
              f.overflow.clear();
            axes = unproject(rule, 0, gathered, sharding).dims[0].axes;
          }
        for (int64_t device = 0; device < mesh.getNumDevices(); ++device)
          EXPECT_EQ(getByFactors(mesh, rule, rule.operands[0][0],
                                 getAxes(projection), device),
                    getByBlocks(mesh, size, axes, device))
              << show(rule) << ' ' << show(mesh, sharding);
        ++cases;
      });
    }
  }
  EXPECT_GT(cases, 1000u);
}

TEST(Projection, OverflowIsOnlyWhatNoFactorCanExpress) {
  // The first overflow axis, however it is cut, never gives pieces of factors.
  for (const char *text : meshes) {
    Mesh mesh = test::mesh(text);
    for (const Shape &sizes : dimensions) {
      ShardingRule rule = makeDimRule(sizes);
      forEachSharding(mesh, 1, 2, [&](const TensorSharding &sharding) {
        TensorProjection projection = project(rule, 0, sharding);
        for (unsigned f = 0; f < projection.size(); ++f) {
          if (projection[f].overflow.empty())
            continue;
          int64_t size = 1;
          for (int64_t factor : sizes)
            size *= factor;
          int64_t rest = rule.factors[f].size / getSize(projection[f].axes);
          int64_t next = projection[f].overflow.front().size;
          EXPECT_TRUE(size % getSize(sharding.dims[0].axes) != 0 ||
                      std::gcd(rest, next) == 1)
              << show(rule) << ' ' << show(mesh, sharding);
        }
      });
    }
  }
}

// A dimension of two factors is cut along the first alone exactly where that is
// true of the elements that devices hold: sizes to 72 on up to 16 devices.
TEST(Projection, UnevenBlocksAreOfTheFirstFactorIfTheyCoincide) {
  unsigned coinciding = 0, others = 0;
  for (int64_t heads = 2; heads <= 24; ++heads)
    for (int64_t features = 2; heads * features <= 72; ++features) {
      ShardingRule rule =
          makeReshapeRule({heads * features}, {heads, features});
      // The most devices of each number's divisors that cut heads alone.
      int64_t most[17];
      for (int64_t devices = 1; devices <= 16; ++devices) {
        Mesh mesh = test::mesh("a" + std::to_string(devices));
        AxisList axes{AxisRef::full(mesh, 0)};
        TensorSharding flat = TensorSharding::replicate(1, /*open=*/true);
        auto fit = fitAxes(rule, 0, 0, 0, project(rule, 0, flat), flat, axes);
        flat.dims[0].axes = axes;
        bool coincide = true;
        for (int64_t device = 0; device < devices; ++device)
          coincide &= getByFactors(mesh, rule, rule.operands[0][0], {axes, {}},
                                   device) ==
                      getByBlocks(mesh, heads * features, axes, device);
        most[devices] = coincide ? devices : 1;
        for (int64_t part = 1; part < devices && !coincide; ++part)
          if (devices % part == 0)
            most[devices] = std::max(most[devices], most[part]);
        if (devices == 1)
          continue;
        EXPECT_EQ(getSize(fit.axes), most[devices])
            << heads << 'x' << features << " on " << devices;
        EXPECT_EQ(project(rule, 0, flat)[0].axes == axes, coincide);
        OpShardings out;
        AxisList cut[] = {axes, {}};
        EXPECT_EQ(!getShardings(rule, cut, out), coincide);
        bool isUneven = heads % devices != 0;
        coinciding += isUneven && coincide;
        others += !coincide;
      }
    }
  EXPECT_GT(coinciding, 100u);
  EXPECT_GT(others, 1000u);
}

TEST(Projection, TheExampleOfTheHeader) {
  Mesh mesh = test::mesh("x8");
  ShardingRule rule = makeReshapeRule({32}, {4, 8});
  TensorProjection projection = project(rule, 0, parseSharding(mesh, "[x?]"));
  EXPECT_EQ(show(mesh, projection[0].axes), "x:(1)4");
  EXPECT_EQ(show(mesh, projection[1].axes), "x:(4)2");
  EXPECT_FALSE(projection[0].closed);
  EXPECT_TRUE(project(rule, 0, parseSharding(mesh, "[x]"))[0].closed);
}

TEST(Projection, SizeOneFactorsAndDimensionsWithoutFactorsHoldNothing) {
  Mesh mesh = test::mesh("a2,b2,u1");
  auto rule = parseRule("1i->i", {{1, 8}}, {{8}});
  ASSERT_TRUE(bool(rule));
  TensorSharding sharding = parseSharding(mesh, "[a,b]");
  TensorProjection projection = project(*rule, 0, sharding);
  EXPECT_EQ(show(mesh, projection[0].axes), "b");
  EXPECT_EQ(unproject(*rule, 0, projection, sharding), sharding);
  // The one loss on the way: axes of size 1.
  sharding = parseSharding(mesh, "[a,(b,u)]");
  EXPECT_EQ(
      show(mesh, unproject(*rule, 0, project(*rule, 0, sharding), sharding)),
      "[a,b]");
}

TEST(FitAxes, WhatItAllowsIsValidAndTheFactorGetsIt) {
  // Tensor (hd)k and every axis list, on every factor.
  uint64_t allowed = 0, refused = 0;
  for (const char *text : {"a2,b2", "a4,b2", "a6", "a8"}) {
    Mesh mesh = test::mesh(text);
    AxisList all = getSubAxes(mesh);
    for (auto [size, heads] : {std::pair(16, 4), {21, 7}, {6, 3}}) {
      auto rule =
          parseRule("(hd)k,h->(hd)k", {{size, 6}, {heads}}, {{size, 6}});
      ASSERT_TRUE(bool(rule));
      forEachSharding(mesh, 2, 2, [&](const TensorSharding &sharding) {
        TensorProjection before = project(*rule, 0, sharding);
        for (unsigned dim = 0; dim < 2; ++dim)
          for (unsigned f : rule->operands[0][dim])
            for (const AxisRef &axis : all) {
              Fit fit = fitAxes(*rule, 0, dim, f, before, sharding, axis);
              EXPECT_EQ(fit.obstacle.has_value(), fit.axes != AxisList{axis});
              if (fit.axes.empty()) {
                ++refused;
                continue;
              }
              ++allowed;
              TensorSharding after = sharding;
              TensorProjection expected = before;
              for (const AxisRef &given : fit.axes) {
                appendMerged(after.dims[dim].axes, given);
                appendMerged(expected[f].axes, given);
              }
              EXPECT_TRUE(isValid(mesh, after)) << show(mesh, after);
              EXPECT_EQ(project(*rule, 0, after), expected)
                  << show(mesh, after);
            }
      });
    }
  }
  EXPECT_GT(allowed, 100u);
  EXPECT_GT(refused, 100u);
}

TEST(FitAxes, NamesTheObstacle) {
  Mesh mesh = test::mesh("a2,b3,c4");
  ShardingRule rule = makeReshapeRule({8, 3}, {2, 4, 3});
  auto obstacle = [&](llvm::StringRef sharding, unsigned dim, unsigned factor,
                      llvm::StringRef axis) {
    TensorSharding tensor = parseSharding(mesh, sharding);
    return fitAxes(rule, 0, dim, factor, project(rule, 0, tensor), tensor,
                   test::axis(mesh, axis))
        .obstacle;
  };
  EXPECT_EQ(obstacle("[?,?]", 0, 0, "a"), std::nullopt);
  EXPECT_EQ(obstacle("[-,?]", 0, 0, "a"), Obstacle::Closed);
  EXPECT_EQ(obstacle("[b?,?]", 0, 0, "a"), Obstacle::Overflow);
  EXPECT_EQ(obstacle("[?,a?]", 0, 0, "a"), Obstacle::AxisInUse);
  EXPECT_EQ(obstacle("[?,?]", 0, 0, "b"), Obstacle::NotDivisible);
  EXPECT_EQ(obstacle("[?,?]", 0, 1, "c"), Obstacle::Strided);
  EXPECT_EQ(obstacle("[a?,?]", 0, 1, "c"), std::nullopt);
  EXPECT_EQ(obstacle("[?,?]", 1, 2, "c"), std::nullopt) << "uneven is fine";
}

//===----------------------------------------------------------------------===//
// From factors to tensors
//===----------------------------------------------------------------------===//

/// Gives factor `f` the f-th list.
std::string shardings(llvm::StringRef meshText, const ShardingRule &rule,
                      llvm::ArrayRef<llvm::StringRef> factors) {
  Mesh mesh = test::mesh(meshText);
  FactorAxes axes;
  for (llvm::StringRef text : factors)
    axes.push_back(test::axes(mesh, text));
  OpShardings out;
  if (auto misfit = getShardings(rule, axes, out))
    return "factor " + std::to_string(misfit->factor) + " tensor " +
           std::to_string(misfit->tensor) + " obstacle " +
           std::to_string(static_cast<int>(misfit->obstacle));
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const TensorSharding &operand : out.operands)
    os << show(mesh, operand) << ' ';
  os << "->";
  for (const TensorSharding &result : out.results) {
    os << ' ' << show(mesh, result);
    if (!result.unreduced.empty())
      os << ' ' << stringify(result.kind) << '{' << show(mesh, result.unreduced)
         << '}';
  }
  return text;
}

std::string misfit(unsigned factor, unsigned tensor, Obstacle obstacle) {
  return "factor " + std::to_string(factor) + " tensor " +
         std::to_string(tensor) + " obstacle " +
         std::to_string(static_cast<int>(obstacle));
}

TEST(GetShardings, AMatrixProductIsPartialOnItsInnerAxes) {
  auto rule = parseRule("ik,kj->ij", {{8, 16}, {16, 4}}, {{8, 4}});
  ASSERT_TRUE(bool(rule));
  EXPECT_EQ(shardings("x2,y4", *rule, {"", "", ""}), "[-,-] [-,-] -> [-,-]");
  EXPECT_EQ(shardings("x2,y4", *rule, {"x", "y", ""}),
            "[x,y] [y,-] -> [x,-] sum{y}");
  EXPECT_EQ(shardings("x2,y4", *rule, {"", "y,x", ""}),
            "[-,(y,x)] [(y,x),-] -> [-,-] sum{x,y}");
  EXPECT_EQ(shardings("x2,y4", *rule, {"x,y:(1)2", "y:(2)2", ""}),
            "[(x,y:(1)2),y:(2)2] [y:(2)2,-] -> [(x,y:(1)2),-] sum{y:(2)2}");
}

TEST(GetShardings, UnreducedAxesKeepTheKindOfTheirReduction) {
  RuleBuilder builder(1, 1);
  unsigned i = builder.addFactor(8);
  unsigned j = builder.addFactor(8, FactorKind::Reduction, ReduceKind::Max);
  unsigned k = builder.addFactor(8, FactorKind::Reduction);
  for (unsigned f : {i, j, k})
    builder.addDim(0, f);
  builder.addDim(1, i);
  ShardingRule rule = builder.build();
  EXPECT_EQ(shardings("x2,y4", rule, {"x", "y", ""}), "[x,y,-] -> [x] max{y}");
  EXPECT_EQ(shardings("x2,y4", rule, {"", "x", "y"}),
            misfit(2, 0, Obstacle::MixedReductions));
}

TEST(GetShardings, NamesTheFactorThatDoesNotWork) {
  auto dot = parseRule("ik,kj->ij", {{8, 16}, {16, 4}}, {{8, 4}});
  auto norm = parseRule("id!,d->id!", {{8, 16}, {16}}, {{8, 16}});
  auto two = parseRule("ij->ij,i", {{8, 16}}, {{8, 16}, {8}});
  ASSERT_TRUE(dot && norm && two);
  ShardingRule reshape = makeReshapeRule({24}, {6, 4});
  EXPECT_EQ(shardings("x2", *dot, {"x", "x", ""}),
            misfit(1, 0, Obstacle::AxisInUse));
  EXPECT_EQ(shardings("x2", *dot, {"x", "", "x"}),
            misfit(2, 1, Obstacle::AxisInUse));
  EXPECT_EQ(shardings("x2", *norm, {"", "x"}),
            misfit(1, 0, Obstacle::WantedWhole));
  EXPECT_EQ(shardings("x2", reshape, {"", "x"}),
            misfit(1, 0, Obstacle::Strided));
  EXPECT_EQ(shardings("x4", reshape, {"x", ""}),
            misfit(0, 0, Obstacle::NotDivisible));
  EXPECT_EQ(shardings("x2,y3", reshape, {"x,y", ""}), "[(x,y)] -> [(x,y),-]");
  EXPECT_EQ(shardings("x2", *two, {"x", ""}), "[x,-] -> [x,-] [x]");
  EXPECT_EQ(shardings("x2", *two, {"", "x"}),
            misfit(1, 2, Obstacle::NotInResult));
}

/// The flat numbers of the elements of a tensor that a device holds, in the
/// order of its buffer.
std::vector<int64_t> getLocalElements(const Mesh &mesh,
                                      llvm::ArrayRef<int64_t> shape,
                                      const TensorSharding &sharding,
                                      int64_t device) {
  std::vector<int64_t> elements = {0};
  for (auto [size, dim] : llvm::zip_equal(shape, sharding.dims)) {
    std::vector<int64_t> next;
    for (int64_t element : elements)
      for (int64_t i : getByBlocks(mesh, size, dim.axes, device))
        next.push_back(element * size + i);
    elements = std::move(next);
  }
  return elements;
}

TEST(ReshapeRule, EveryFactorShardingKeepsElementsWhereTheyAre) {
  const std::pair<Shape, Shape> reshapes[] = {
      {{2, 4}, {8}},          {{8}, {2, 4}},       {{4, 12}, {4, 2, 3, 2}},
      {{6, 4}, {4, 6}},       {{3, 2}, {2, 3}},    {{8, 4}, {2, 16}},
      {{3, 8}, {2, 12}},      {{4, 6}, {1, 24}},   {{5}, {1, 5, 1}},
      {{2, 3, 4}, {6, 4}},    {{12, 2}, {3, 8}},   {{3, 2, 4}, {2, 3, 4}},
      {{2, 6, 4}, {4, 3, 4}}, {{6, 4, 5}, {4, 30}}};
  uint64_t accepted = 0;
  for (const auto &reshape : reshapes) {
    const Shape &from = reshape.first, &to = reshape.second;
    ShardingRule rule = makeReshapeRule(from, to);
    for (const char *text : meshes) {
      Mesh mesh = test::mesh(text);
      // Any way to spread axes over the factors.
      forEachSharding(
          mesh, rule.factors.size(), 2, [&](const TensorSharding &factors) {
            FactorAxes axes;
            for (const DimSharding &dim : factors.dims)
              axes.push_back(dim.axes);
            OpShardings out;
            if (getShardings(rule, axes, out))
              return;
            ++accepted;
            for (int64_t device = 0; device < mesh.getNumDevices(); ++device)
              EXPECT_EQ(getLocalElements(mesh, from, out.operands[0], device),
                        getLocalElements(mesh, to, out.results[0], device))
                  << show(rule) << ' ' << show(mesh, factors);
          });
    }
  }
  EXPECT_GT(accepted, 500u);
}

TEST(ReshapeRule, HasTheFactorsThatBothShapesShare) {
  auto rule = [](const Shape &from, const Shape &to) {
    return show(makeReshapeRule(from, to));
  };
  EXPECT_EQ(rule({2, 4}, {8}), "AB->(AB) {A=2, B=4}");
  EXPECT_EQ(rule({4, 12}, {4, 2, 3, 2}), "A(BCD)->ABCD {A=4, B=2, C=3, D=2}");
  EXPECT_EQ(rule({3, 2}, {2, 3}), "A!D!->B!C! {A=3, B=2, C=3, D=2}");
  // 6x4 -> 4x6: the major halves are shared. Elements of one parity are on both
  // sides, too, but strided on both: no sharding reaches them.
  EXPECT_EQ(rule({6, 4}, {4, 6}), "(AB!)E!->(AC!)D! {A=2, B=3, C=2, D=6, E=4}");
  EXPECT_EQ(rule({8}, {1, 8, 1}), "A->1A1 {A=8}");
  EXPECT_EQ(rule({}, {1}), "->1 {}");
  EXPECT_EQ(rule({0, 4}, {0}), "11->1 {}");
}

} // namespace
