// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Who exchanges with whom, in every way that StableHLO has to write it.

#include "passes/Import/StableHLO/Groups.h"

#include "tpopt/Dialect/Sdy/Sdy.h"
#include "tpopt/Dialect/StableHLO/StableHLO.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

namespace {

using Numbers = SmallVector<int64_t>;

class GroupsTest : public ::testing::Test {
protected:
  GroupsTest() {
    DialectRegistry registry;
    registry.insert<TPDialect, spmd::SPMDDialect, func::FuncDialect>();
    stablehlo::registerReaders(registry);
    sdy::registerReader(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// An exchange with `attributes` in a module with `of`.
  Operation *parse(StringRef op, StringRef attributes, StringRef of = "") {
    std::string text = ("module attributes {" + of + R"(} {
      spmd.mesh @mesh <["x"=2, "y"=4]>
      func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
        %0 = ")" + op + "\"(%x) {" +
                        attributes + R"(} : (tensor<8xf32>) -> tensor<8xf32>
        return %0 : tensor<8xf32>
      }
    })")
                           .str();
    module = parseSourceString<ModuleOp>(text, &context);
    Operation *found = nullptr;
    if (module)
      module->walk([&](Operation *inner) {
        if (isExchange(inner))
          found = inner;
      });
    return found;
  }

  /// The groups, or what is wrong with them.
  std::string read(StringRef attributes, StringRef of = "",
                   StringRef name = "stablehlo.all_gather") {
    std::string text;
    llvm::raw_string_ostream os(text);
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) {
      os << diag.str();
      return success();
    });
    Operation *op = parse(name, attributes, of);
    EXPECT_TRUE(op) << attributes.str();
    if (!op)
      return text;
    FailureOr<DeviceGroups> groups = readGroups(op, 8);
    if (failed(groups))
      return text;
    for (size_t i = 0; i < groups->devices.size(); ++i)
      os << (i == 0 ? "" : i % groups->size ? " " : "|") << groups->devices[i];
    return text;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr const char kGlobal[] =
    ", use_global_device_ids, "
    "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";
constexpr const char kChannel[] =
    ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";

// Lists, the two texts of XLA and axes of meshes say the same groups.
TEST_F(GroupsTest, Forms) {
  std::string strided = "0 4|1 5|2 6|3 7", halves = "0 1 2 3|4 5 6 7";
  auto with = [&](const std::string &groups) {
    return read("replica_groups = " + groups + kGlobal);
  };
  EXPECT_EQ(with("dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>"),
            strided);
  EXPECT_EQ(with("\"[4,2]<=[2,4]T(1,0)\""), strided);
  EXPECT_EQ(with("\"{{0,4},{1,5},{2,6},{3,7}}\""), strided);
  EXPECT_EQ(with("#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = "
                 "[#stablehlo.axis_ref<name = \"x\">]>"),
            strided);
  EXPECT_EQ(with("#stablehlo.replica_group_mesh_axes<mesh_name = @mesh, axes = "
                 "[#stablehlo.axis_ref<name = \"y\">]>"),
            halves);
  EXPECT_EQ(with("\"[2,4]<=[8]\""), halves);
  EXPECT_EQ(
      with("#stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = "
           "[#stablehlo.mesh_axis<name = \"a\", size = 2>, "
           "#stablehlo.mesh_axis<name = \"b\", size = 4>]>, "
           "axes = [#stablehlo.axis_ref<name = \"b\">]>"),
      halves);
  std::string pairs = "0 2|1 3|4 6|5 7";
  EXPECT_EQ(with("#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = "
                 "[#stablehlo.axis_ref<name = \"y\", sub_axis_info = (1)2>]>"),
            pairs);
  EXPECT_EQ(with("#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = "
                 "[#sdy<axis_ref\"y\":(1)2>]>"),
            pairs);
  EXPECT_EQ(with("dense<> : tensor<0x0xi64>"), "0 1 2 3 4 5 6 7");
}

// Replicas and partitions, as the channel and the flag say.
TEST_F(GroupsTest, Processes) {
  std::string groups = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>";
  StringRef mixed =
      "mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 4 : i32";
  EXPECT_EQ(read(groups, mixed), "0 4|1 5|2 6|3 7");
  EXPECT_EQ(read(groups + kChannel, mixed), "0 4 1 5 2 6 3 7");
  std::string four =
      "replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>";
  EXPECT_EQ(read(four + kChannel, mixed, "stablehlo.all_to_all"),
            "0 2|4 6|1 3|5 7");
  // One replica: partitions by themselves, or all of them.
  std::string self = "replica_groups = dense<0> : tensor<1x1xi64>";
  EXPECT_EQ(read(self), "0|1|2|3|4|5|6|7");
  EXPECT_EQ(read(self + kChannel), "0 1 2 3 4 5 6 7");
}

// What is no partition of the devices is refused with its reason.
TEST_F(GroupsTest, Errors) {
  auto says = [&](const std::string &groups, StringRef reason) {
    std::string text = read("replica_groups = " + groups + kGlobal);
    return StringRef(text).contains(reason);
  };
  EXPECT_TRUE(says("dense<[[0, 1]]> : tensor<1x2xi64>",
                   "expects groups that contain all 8 devices, got 2"));
  EXPECT_TRUE(
      says("dense<[[0,1,2,3],[4,5,6,6]]> : tensor<2x4xi64>", "device 6"));
  EXPECT_TRUE(
      says("dense<[[0,1,2,3],[4,5,6,9]]> : tensor<2x4xi64>", "device 9"));
  EXPECT_TRUE(
      says("dense<[[0,1,2,3],[4,5,6,-1]]> : tensor<2x4xi64>", "[TP0535]"));
  for (const char *text :
       {"\"\"", "\"{{0,1},{2}}\"", "\"[3,2]<=[8]\"", "\"[8]<=[8]\"", "7 : i32",
        "#stablehlo.replica_group_mesh_axes<mesh = @none, axes = "
        "[#stablehlo.axis_ref<name = \"x\">]>",
        "#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = "
        "[#stablehlo.axis_ref<name = \"z\">]>",
        "#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = "
        "[#stablehlo.axis_ref<name = \"y\", sub_axis_info = (1)3>]>",
        "#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = "
        "[#stablehlo.axis_ref<name = \"x\">, #stablehlo.axis_ref<name = "
        "\"x\">]>"})
    EXPECT_TRUE(says(text, "[TP0531]")) << text;
}

// Groups along any axes, in any order of them, are found again.
TEST_F(GroupsTest, Axes) {
  Mesh mesh;
  mesh.name = "mesh";
  mesh.axes = {{"x", 2, {}}, {"y", 4, {}}, {"z", 3, {}}};
  std::vector<AxisRef> parts = {
      AxisRef::full(mesh, 0), {1, 1, 2}, {1, 2, 2}, AxisRef::full(mesh, 2)};
  std::vector<unsigned> order = {0, 1, 2, 3};
  do {
    for (unsigned count = 0; count <= order.size(); ++count) {
      AxisList axes, merged;
      for (unsigned i = 0; i < count; ++i)
        axes.push_back(parts[order[i]]);
      for (const AxisRef &axis : axes)
        appendMerged(merged, axis);
      DeviceGroups groups{{}, getSize(axes)};
      for (ArrayRef<int64_t> group : getGroups(mesh, axes))
        llvm::append_range(groups.devices, group);
      auto found = findAxes(groups, mesh);
      ASSERT_TRUE(found);
      EXPECT_EQ(*found, merged);
      // In whatever order the groups are listed.
      std::rotate(groups.devices.begin(), groups.devices.begin() + groups.size,
                  groups.devices.end());
      EXPECT_EQ(findAxes(groups, mesh), merged);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

// A digit is the axes and parts of axes that are between its ends.
TEST_F(GroupsTest, Digits) {
  Mesh mesh;
  mesh.axes = {{"x", 2, {}}, {"y", 4, {}}, {"z", 3, {}}};
  EXPECT_EQ(toAxes({2, 12}, mesh), (AxisList{{0, 1, 2}}));
  EXPECT_EQ(toAxes({8, 3}, mesh), (AxisList{{0, 1, 2}, {1, 1, 4}}));
  EXPECT_EQ(toAxes({4, 6}, mesh), (AxisList{{0, 1, 2}, {1, 1, 2}}));
  EXPECT_EQ(toAxes({2, 3}, mesh), (AxisList{{1, 2, 2}}));
  EXPECT_EQ(toAxes({24, 1}, mesh), (AxisList{{0, 1, 2}, {1, 1, 4}, {2, 1, 3}}));
  EXPECT_EQ(toAxes({1, 1}, mesh), AxisList());
  EXPECT_FALSE(toAxes({2, 1}, mesh));
  EXPECT_FALSE(toAxes({6, 2}, mesh));
  EXPECT_FALSE(toAxes({2, 24}, mesh));
}

// Groups of no axes are none.
TEST_F(GroupsTest, NoAxes) {
  Mesh mesh;
  mesh.axes = {{"x", 2, {}}, {"y", 4, {}}};
  EXPECT_FALSE(findAxes({{0, 1, 2, 3, 4, 5, 7, 6}, 4}, mesh));
  EXPECT_FALSE(findAxes({{0, 3, 1, 2, 4, 7, 5, 6}, 2}, mesh));
  EXPECT_FALSE(findAxes({{0, 1, 2, 4, 3, 5, 6, 7}, 4}, mesh));
  mesh.axes = {{"x", 8, {}}};
  mesh.deviceIds = {0, 4, 1, 5, 2, 6, 3, 7};
  EXPECT_EQ(findAxes({{0, 4, 1, 5, 2, 6, 3, 7}, 2}, mesh),
            (AxisList{{0, 4, 2}}));
  // In another order within the groups, which a sum does not see.
  EXPECT_FALSE(findAxes({{4, 0, 1, 5, 2, 6, 7, 3}, 2}, mesh));
  EXPECT_EQ(findAxes({{4, 0, 1, 5, 2, 6, 7, 3}, 2}, mesh, /*ordered=*/false),
            (AxisList{{0, 4, 2}}));
}

} // namespace
