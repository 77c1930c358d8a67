// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scattering, gathering and every collective, over all shardings of small
// meshes, with padding full of garbage.

#include "Harness.h"

using namespace tp;
using namespace tp::interp;
using namespace mlir;

namespace {

Mesh makeMesh(std::initializer_list<std::pair<const char *, int64_t>> axes) {
  Mesh mesh;
  mesh.name = "mesh";
  for (auto [name, size] : axes)
    mesh.axes.push_back({name, size, {}});
  return mesh;
}

/// All ordered lists without repetition of some of `axes`.
std::vector<AxisList> getLists(ArrayRef<AxisRef> axes) {
  std::vector<AxisList> lists{{}};
  for (size_t i = 0; i < lists.size(); ++i)
    for (const AxisRef &axis : axes)
      if (!overlap(lists[i], axis)) {
        AxisList longer = lists[i];
        longer.push_back(axis);
        lists.push_back(longer);
      }
  return lists;
}

/// All valid layouts of a tensor of rank 2, with partial sums.
std::vector<TensorSharding> getShardings(const Mesh &mesh,
                                         ArrayRef<AxisRef> axes) {
  std::vector<TensorSharding> shardings;
  std::vector<AxisList> lists = getLists(axes);
  for (const AxisList &rows : lists)
    for (const AxisList &columns : lists)
      for (const AxisList &unreduced : lists) {
        if (!llvm::is_sorted(unreduced))
          continue;
        TensorSharding sharding = TensorSharding::replicate(2);
        sharding.dims[0].axes = rows;
        sharding.dims[1].axes = columns;
        sharding.unreduced = unreduced;
        if (!verify(sharding, mesh, 2))
          shardings.push_back(sharding);
      }
  return shardings;
}

class DistributionTest : public InterpreterFixture {
protected:
  RankedTensorType bufferType(const Layout &layout) {
    return type(layout.getBufferShape(), f32());
  }

  /// Buffers whose value is `whole`: along unreduced axes random addends.
  DeviceValues distribute(const TensorValue &whole, const Layout &layout) {
    int64_t addends = getSize(layout.sharding.unreduced);
    std::vector<TensorValue> terms(addends);
    terms[0] = whole;
    for (int64_t i = 1; i < addends; ++i) {
      terms[i] = draw(whole->getType(), -50, 50);
      terms[0] = evaluator.binary(BinaryKind::Sub, terms[0], terms[i],
                                  whole->getType());
    }
    Layout cut = layout;
    cut.sharding.unreduced.clear();
    DeviceValues parts(layout.getNumDevices());
    for (int64_t i = 0; i < addends; ++i) {
      DeviceValues term =
          distributor.scatter(terms[i], cut, bufferType(cut), Padding::Garbage);
      for (int64_t device = 0; device < layout.getNumDevices(); ++device)
        if (getPosition(*layout.mesh, layout.sharding.unreduced, device) == i)
          parts[device] = term[device];
    }
    return parts;
  }

  /// Runs every collective between any two of `shardings` that is one step, on
  /// tensors of every shape, and counts them by kind.
  std::map<CollectiveKind, int> runAll(const Mesh &mesh,
                                       ArrayRef<TensorSharding> shardings,
                                       ArrayRef<Index> shapes) {
    std::map<CollectiveKind, int> counts;
    const CollectiveKind kinds[] = {
        CollectiveKind::AllSlice,         CollectiveKind::ToPartial,
        CollectiveKind::AllGather,        CollectiveKind::ReduceScatter,
        CollectiveKind::AllReduce,        CollectiveKind::AllToAll,
        CollectiveKind::CollectivePermute};
    for (const Index &shape : shapes) {
      TensorValue whole = draw(type(shape, f32()), -50, 50);
      for (const TensorSharding &from : shardings)
        for (const TensorSharding &to : shardings)
          for (CollectiveKind kind : kinds) {
            llvm::Expected<ReshardStep> step =
                makeStep(mesh, kind, from, to, shape);
            if (!step) {
              llvm::consumeError(step.takeError());
              continue;
            }
            ++counts[kind];
            Layout in{&mesh, from, shape}, out{&mesh, to, shape};
            DeviceValues parts =
                distributor.run(kind, step->axes, distribute(whole, in), in,
                                out, bufferType(out));
            auto result = distributor.gather(parts, out, whole->getType(), 0);
            auto *value = std::get_if<TensorValue>(&result);
            if (!value) {
              ADD_FAILURE()
                  << stringify(kind).str() << ' ' << from.str(mesh) << " -> "
                  << to.str(mesh) << ": " << std::get<std::string>(result);
              continue;
            }
            expectElements(*value,
                           [&](const Index &n) { return at(whole, n); });
          }
    }
    return counts;
  }

  Distributor distributor{evaluator};
};

// Device i holds rows [i*b, (i+1)*b) of what its place on the axes says.
TEST_F(DistributionTest, ScattersFlatBlocks) {
  Mesh mesh = makeMesh({{"x", 2}, {"y", 3}});
  TensorSharding sharding = TensorSharding::replicate(2);
  sharding.dims[0].axes = {AxisRef::full(mesh, 1), AxisRef::full(mesh, 0)};
  Layout layout{&mesh, sharding, {10, 2}};
  EXPECT_EQ(layout.getBufferShape(), (Index{2, 2}));
  TensorValue whole = evaluator.iota(0, type({10, 2}, f32()));
  for (Padding padding : {Padding::Zero, Padding::Garbage}) {
    DeviceValues parts =
        distributor.scatter(whole, layout, type({2, 2}, f32()), padding);
    ASSERT_EQ(parts.size(), 6u);
    for (int64_t x = 0; x < 2; ++x)
      for (int64_t y = 0; y < 3; ++y)
        for (int64_t row = 0; row < 2; ++row) {
          int64_t global = (y * 2 + x) * 2 + row;
          double held = real(parts[x * 3 + y], {row, 1});
          if (global < 10)
            EXPECT_EQ(held, global);
          else if (padding == Padding::Zero)
            EXPECT_EQ(held, 0);
          else
            EXPECT_TRUE(isGarbage(held));
        }
  }
}

// All shardings of 2x3 devices bring a tensor out and back, and all collectives
// between them keep it. Sizes that divide, that do not, and fewer than devices.
TEST_F(DistributionTest, CollectivesOnTwoByThree) {
  Mesh mesh = makeMesh({{"x", 2}, {"y", 3}});
  auto counts = runAll(
      mesh,
      getShardings(mesh, {AxisRef::full(mesh, 0), AxisRef::full(mesh, 1)}),
      {{6, 12}, {10, 7}, {2, 5}});
  EXPECT_EQ(counts.size(), 7u);
}

// The same with an axis of 4 read as 2x2.
TEST_F(DistributionTest, CollectivesOnSubAxes) {
  Mesh mesh = makeMesh({{"x", 4}, {"y", 2}});
  auto counts =
      runAll(mesh,
             getShardings(mesh, {AxisRef::full(mesh, 0), AxisRef{0, 1, 2},
                                 AxisRef{0, 2, 2}, AxisRef::full(mesh, 1)}),
             {{8, 16}, {10, 7}});
  EXPECT_EQ(counts.size(), 7u);
  for (auto [kind, count] : counts)
    EXPECT_GT(count, 10) << stringify(kind).str();
}

// Max and min combine as sums do; scattering them starts from the identity.
TEST_F(DistributionTest, CombinesMaxAndMin) {
  Mesh mesh = makeMesh({{"x", 3}, {"y", 2}});
  for (ReduceKind kind : {ReduceKind::Max, ReduceKind::Min})
    for (Type element : {f32(), Type(i(8)), parse("ui8")}) {
      TensorSharding sharding = TensorSharding::replicate(1);
      sharding.unreduced = {AxisRef::full(mesh, 0)};
      sharding.kind = kind;
      Layout layout{&mesh, sharding, {5}};
      TensorValue whole = draw(type({5}, element), 0, 100);
      DeviceValues parts = distributor.scatter(
          whole, layout, type({5}, element), Padding::Garbage);
      EXPECT_NE(at(parts[2], {0}).residue, at(parts[0], {0}).residue);
      auto result = distributor.gather(parts, layout, whole->getType(), 0);
      expectElements(std::get<TensorValue>(result),
                     [&](const Index &n) { return at(whole, n); });
    }
}

// Sums are taken in the order of positions: another order loses the 1.
TEST_F(DistributionTest, SumsInRankOrder) {
  Mesh mesh = makeMesh({{"x", 3}});
  RankedTensorType scalar = type({}, f64());
  auto sum = [&](double a, double b, double c) {
    DeviceValues parts{makeRealTensor(scalar, {a}), makeRealTensor(scalar, {b}),
                       makeRealTensor(scalar, {c})};
    DeviceValues sums = distributor.allReduce(
        parts, mesh, AxisRef::full(mesh, 0), ReduceKind::Sum);
    EXPECT_EQ(real(sums[0], {}), real(sums[2], {}));
    return real(sums[1], {});
  };
  EXPECT_EQ(sum(1e16, -1e16, 1), 1);
  EXPECT_EQ(sum(1, 1e16, -1e16), 0);
}

// Copies that differ are named: device, index, both values.
TEST_F(DistributionTest, NamesDevicesThatDisagree) {
  Mesh mesh = makeMesh({{"x", 2}, {"y", 2}});
  TensorSharding sharding = TensorSharding::replicate(2);
  sharding.dims[0].axes = {AxisRef::full(mesh, 0)};
  Layout layout{&mesh, sharding, {3, 2}};
  TensorValue whole = evaluator.iota(0, type({3, 2}, f32()));
  DeviceValues parts =
      distributor.scatter(whole, layout, type({2, 2}, f32()), Padding::Garbage);
  parts[3] = makeRealTensor(type({2, 2}, f32()), {2, 7, 0, 0});
  auto result = distributor.gather(parts, layout, whole->getType(), 0);
  ASSERT_TRUE(std::holds_alternative<std::string>(result));
  EXPECT_EQ(std::get<std::string>(result),
            "device 3 holds 7 at index [2, 1], but device 2 holds 2 there, "
            "and both must hold copies of one value");
  // Close enough counts as a copy.
  EXPECT_TRUE(std::holds_alternative<TensorValue>(
      distributor.gather(parts, layout, whole->getType(), 1.0)));
}

// A reduce-scatter leaves garbage where a device has nothing.
TEST_F(DistributionTest, LeavesPaddingDirty) {
  Mesh mesh = makeMesh({{"x", 4}});
  TensorSharding whole = TensorSharding::replicate(1), cut = whole,
                 partial = whole;
  cut.dims[0].axes = {AxisRef::full(mesh, 0)};
  partial.unreduced = {AxisRef::full(mesh, 0)};
  Layout out{&mesh, cut, {5}};
  TensorValue ones = makeRealTensor(type({5}, f32()), {1, 1, 1, 1, 1});
  DeviceValues parts(4, ones);
  for (auto [kind, from, value] :
       {std::tuple(CollectiveKind::AllSlice, whole, 1.0),
        std::tuple(CollectiveKind::ReduceScatter, partial, 4.0)}) {
    DeviceValues results =
        distributor.run(kind, AxisRef::full(mesh, 0), parts,
                        Layout{&mesh, from, {5}}, out, type({2}, f32()));
    EXPECT_EQ(real(results[2], {0}), value);
    EXPECT_TRUE(isGarbage(real(results[2], {1})));
    EXPECT_TRUE(isGarbage(real(results[3], {0})));
  }
}

TEST_F(DistributionTest, ShiftsAlongAnAxis) {
  Mesh mesh = makeMesh({{"x", 2}, {"y", 3}});
  DeviceValues parts;
  for (int64_t device = 0; device < 6; ++device)
    parts.push_back(makeRealTensor(type({}, f32()), {double(device + 1)}));
  for (StringRef mode : {"fill", "wrap", "mirror"})
    for (int64_t by : {-7, -3, -2, -1, 0, 1, 2, 3, 4}) {
      DeviceValues results = distributor.shift(
          parts, mesh, AxisRef::full(mesh, 1),
          [&](int64_t place, int64_t places) {
            return spmd::ShiftOp::getSender(mode, by, place, places);
          });
      for (int64_t x = 0; x < 2; ++x)
        for (int64_t y = 0; y < 3; ++y) {
          int64_t from = y - by;
          bool isNobody = mode == "fill" && (from < 0 || from >= 3);
          int64_t onRing = ((from % 3) + 3) % 3;
          int64_t sender = mode == "mirror" ? 2 - onRing : onRing;
          EXPECT_EQ(real(results[x * 3 + y], {}),
                    isNobody ? 0 : x * 3 + sender + 1)
              << by << mode.str();
        }
    }
}

TEST_F(DistributionTest, KnowsPlaces) {
  Mesh mesh = makeMesh({{"x", 2}, {"y", 4}});
  DeviceValues places = distributor.axisIndex(
      mesh, {AxisRef{1, 2, 2}, AxisRef::full(mesh, 0)}, type({}, i(32)));
  for (int64_t x = 0; x < 2; ++x)
    for (int64_t y = 0; y < 4; ++y)
      EXPECT_EQ(integer(places[x * 4 + y], {}), y % 2 * 2 + x);
}

TEST_F(DistributionTest, MasksListedDimensions) {
  Mesh mesh = makeMesh({{"x", 2}, {"y", 2}});
  TensorSharding sharding = TensorSharding::replicate(2);
  sharding.dims[0].axes = {AxisRef::full(mesh, 0)};
  sharding.dims[1].axes = {AxisRef::full(mesh, 1)};
  Layout layout{&mesh, sharding, {3, 3}};
  TensorValue whole = draw(type({3, 3}, f32()), 1, 9);
  DeviceValues parts =
      distributor.scatter(whole, layout, type({2, 2}, f32()), Padding::Garbage);
  DeviceValues masked = distributor.mask(parts, layout, {1}, makeReal(-1));
  forEachIndex({2, 2, 2, 2}, [&](const Index &n) {
    int64_t device = n[0] * 2 + n[1], column = n[1] * 2 + n[3];
    Index local{n[2], n[3]};
    Element kept = column < 3 ? at(parts[device], local) : makeReal(-1);
    EXPECT_EQ(at(masked[device], local).residue, kept.residue); // NaN, too
  });
}

} // namespace
