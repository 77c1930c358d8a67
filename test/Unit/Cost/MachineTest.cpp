// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Machines, their files, and times by hand.

#include "lib/Cost/Machine.h"

#include "gtest/gtest.h"

using namespace tp;
using namespace tp::cost;

namespace {

Mesh makeMesh() {
  Mesh mesh;
  mesh.name = "mesh";
  mesh.axes = {{"data", 2, {5e-6, 1 / 50e9}}, {"model", 4, {2e-6, 1 / 100e9}}};
  mesh.hasLinks = true;
  return mesh;
}

std::string getError(llvm::StringRef text) {
  llvm::Expected<Machine> machine = parseMachine(text, "m.json");
  return machine ? "" : llvm::toString(machine.takeError());
}

TEST(MachineTest, EveryBuiltInMachineIsComplete) {
  for (llvm::StringRef name : getMachineNames()) {
    llvm::Expected<Machine> machine = getMachine(name);
    ASSERT_TRUE(bool(machine)) << name.str();
    EXPECT_EQ(machine->name, name);
    EXPECT_GT(machine->memoryBandwidth, 0);
    EXPECT_GT(machine->link.alpha, 0);
    EXPECT_GT(machine->link.beta, 0);
    // Wider elements are never faster.
    double last = machine->getFlops(4);
    for (unsigned bits : {8, 16, 32, 64}) {
      EXPECT_LE(machine->getFlops(bits), last) << name.str() << ' ' << bits;
      EXPECT_GT(machine->getFlops(bits), 0);
      last = machine->getFlops(bits);
    }
  }
}

TEST(MachineTest, UnknownMachineIsANamedError) {
  llvm::Expected<Machine> machine = getMachine("h300");
  ASSERT_FALSE(bool(machine));
  std::string message = llvm::toString(machine.takeError());
  EXPECT_NE(
      message.find("[TP0610] machine 'h300' is neither one of h100, h200, cpu"),
      std::string::npos)
      << message;
}

TEST(MachineTest, ReadsAFile) {
  llvm::Expected<Machine> machine = parseMachine(
      R"({"name": "a100", "flops": 250e12, "memory_bandwidth": 1.8e12,
          "memory_bytes": 80e9, "link": {"us": 10.0, "gbps": 230.0}})",
      "a100.json");
  ASSERT_TRUE(bool(machine));
  EXPECT_EQ(machine->name, "a100");
  EXPECT_EQ(machine->memoryBytes, 80e9);
  EXPECT_DOUBLE_EQ(machine->link.alpha, 10e-6);
  EXPECT_DOUBLE_EQ(machine->link.beta, 1 / 230e9);
  // What the file leaves out.
  EXPECT_EQ(machine->getFlops(8), 250e12);
  EXPECT_EQ(machine->getFlops(32), 125e12);
  EXPECT_EQ(machine->getFlops(64), 62.5e12);
}

TEST(MachineTest, AFileWithoutANameIsCalledByItsPath) {
  llvm::Expected<Machine> machine = parseMachine(
      R"({"flops": 1, "memory_bandwidth": 1, "link": {"us": 1, "gbps": 1}})",
      "my.json");
  ASSERT_TRUE(bool(machine));
  EXPECT_EQ(machine->name, "my.json");
  EXPECT_EQ(machine->memoryBytes, 0);
}

TEST(MachineTest, SaysWhatIsWrongWithAFile) {
  struct Case {
    const char *text, *message;
  };
  const char *rest = R"("memory_bandwidth": 1, "link": {"us": 1, "gbps": 1}})";
  for (const Case &c : {
           Case{"[]", "expects a single JSON object in the file"},
           Case{R"({"name": "", "flops": 1, )",
                "\"name\" must be a string that is not empty"},
           Case{R"({"name": 3, "flops": 1, )",
                "\"name\" must be a string that is not empty"},
           Case{R"({)", "\"flops\" is missing"},
           Case{R"({"flops": 0, )", "\"flops\" must be a positive number"},
           Case{R"({"flops": -1, )", "\"flops\" must be a positive number"},
           Case{R"({"flops": "1", )", "\"flops\" must be a positive number"},
           Case{R"({"flops": 1, "memory": 1, )",
                "\"memory\" is not a key of a machine file"},
       }) {
    std::string text = c.text;
    if (text != "[]")
      text += rest;
    std::string error = getError(text);
    EXPECT_EQ(error.find("[TP0611] m.json:1:"), 0u) << error;
    EXPECT_NE(error.find(c.message), std::string::npos) << error;
  }
  EXPECT_EQ(getError("{").find("[TP0611] m.json:1:2: not JSON"), 0u);
  EXPECT_EQ(getError("{\n \"flops\": \"much\"}"),
            "[TP0611] m.json:2:2: \"flops\" must be a positive number");
  EXPECT_EQ(getError("{\"flops\": 1, \"flops\": 2}"),
            "[TP0611] m.json:1:14: the key \"flops\" is given twice");
  // LLVM's parser calls itself for every level.
  std::string deep;
  for (int i = 0; i < 100000; ++i)
    deep += "{\"a\": [";
  EXPECT_NE(getError(deep).find("nested deeper than 64"), std::string::npos);
  EXPECT_NE(getError(R"({"flops": 1, "memory_bandwidth": 1})")
                .find("\"link\" is missing"),
            std::string::npos);
  EXPECT_NE(
      getError(R"({"flops": 1, "memory_bandwidth": 1, "link": {"us": 1}})")
          .find("\"gbps\" is missing"),
      std::string::npos);
}

TEST(MachineTest, LinksComeFromTheMachineOnlyWhereTheMeshHasNone) {
  Machine machine = llvm::cantFail(getMachine("h200"));
  Mesh own = makeMesh();
  EXPECT_EQ(withMachineLinks(own, machine).axes[0].link, own.axes[0].link);
  Mesh bare = makeMesh();
  bare.hasLinks = false;
  Mesh linked = withMachineLinks(bare, machine);
  EXPECT_TRUE(linked.hasLinks);
  for (const Axis &axis : linked.axes)
    EXPECT_EQ(axis.link, machine.link);
  EXPECT_FALSE(withMachineLinks(bare, std::nullopt).hasLinks);
}

/// Axes of equal speed share a link, others have links of their own. A
/// collective along both occupies both, and takes the time of the slower one.
TEST(MachineTest, AxesOfDifferentSpeedsHaveDifferentLinks) {
  Mesh mesh;
  mesh.axes = {{"pod", 2, {20e-6, 1e-10}},
               {"x", 4, {2e-6, 1e-11}},
               {"host", 2, {20e-6, 1e-10}},
               {"y", 4, {2e-6, 1e-10}}};
  mesh.hasLinks = true;
  EXPECT_EQ(getAxisLinks(mesh), (llvm::SmallVector<unsigned>{0, 1, 0, 2}));
  using Links = llvm::SmallVector<unsigned, 2>;
  const AxisRef pod = {0, 1, 2}, x = {1, 1, 4}, half = {1, 2, 2},
                host = {2, 1, 2};
  EXPECT_EQ(getLinks(mesh, {x}), Links{1});
  EXPECT_EQ(getLinks(mesh, {half}), Links{1});
  EXPECT_EQ(getLinks(mesh, {host, pod}), Links{0});
  EXPECT_EQ(getLinks(mesh, {x, pod}), (Links{0, 1}));
  EXPECT_DOUBLE_EQ(getCollectiveTime(mesh, {x, pod}, 1e6), 20e-6 + 1e-10 * 1e6);
  EXPECT_EQ(getLinks(mesh, {}), Links{0});
  Mesh bare;
  bare.axes = {{"x", 2, {}}, {"y", 2, {}}};
  EXPECT_EQ(getAxisLinks(bare), (llvm::SmallVector<unsigned>{0, 0}));
}

/// On hosts of two devices, 0 and 1 are on the first one. Where the mesh has
/// which device decides along which axis hosts meet.
TEST(MachineTest, AnAxisThatJoinsHostsHasTheirLink) {
  Machine machine = llvm::cantFail(parseMachine(
      R"({"flops": 1, "memory_bandwidth": 1, "link": {"us": 1, "gbps": 100},
          "host": {"devices": 2, "link": {"us": 20, "gbps": 10}}})",
      "m.json"));
  EXPECT_EQ(machine.hostDevices, 2);
  Mesh mesh;
  mesh.axes = {{"x", 2, {}}, {"y", 2, {}}};
  auto joinsHosts = [&](std::initializer_list<int64_t> deviceIds) {
    mesh.deviceIds = deviceIds;
    Mesh linked = withMachineLinks(mesh, machine);
    for (const Axis &axis : linked.axes)
      EXPECT_TRUE(axis.link == machine.link || axis.link == machine.hostLink);
    return std::pair(linked.axes[0].link == machine.hostLink,
                     linked.axes[1].link == machine.hostLink);
  };
  EXPECT_EQ(joinsHosts({}), std::pair(true, false));
  EXPECT_EQ(joinsHosts({0, 2, 1, 3}), std::pair(false, true));
  EXPECT_EQ(joinsHosts({3, 1, 2, 0}), std::pair(false, true));
  EXPECT_EQ(joinsHosts({0, 3, 2, 1}), std::pair(true, true));
  // A host that is not full.
  mesh.axes = {{"x", 3, {}}, {"one", 1, {}}};
  EXPECT_EQ(joinsHosts({}), std::pair(true, false));
  machine.hostDevices = 3;
  EXPECT_EQ(joinsHosts({}), std::pair(false, false));
}

TEST(MachineTest, SaysWhatIsWrongWithAHost) {
  auto getErrorOf = [](const std::string &host) {
    return getError(
        R"({"flops": 1, "memory_bandwidth": 1, "link": {"us": 1, "gbps": 1},)"
        "\n\"host\": " +
        host + "}");
  };
  EXPECT_EQ(
      getErrorOf("8"),
      "[TP0611] m.json:2:1: \"host\" must be {\"devices\": .., \"link\": ..}");
  EXPECT_EQ(getErrorOf("{}"), "[TP0611] m.json:2:1: \"devices\" is missing");
  EXPECT_EQ(
      getErrorOf(R"({"devices": 1.5})"),
      "[TP0611] m.json:2:10: \"devices\" must be a whole number of at most "
      "1048576");
  EXPECT_EQ(getErrorOf(R"({"devices": 8})"),
            "[TP0611] m.json:2:1: \"link\" is missing: write {\"us\": .., "
            "\"gbps\": ..}");
}

TEST(MachineTest, ACollectiveFeelsTheWorstOfItsLinks) {
  Mesh mesh = makeMesh();
  AxisRef data = AxisRef::full(mesh, 0), model = AxisRef::full(mesh, 1);
  EXPECT_DOUBLE_EQ(getCollectiveTime(mesh, model, 1e6), 2e-6 + 1e6 / 100e9);
  EXPECT_DOUBLE_EQ(getCollectiveTime(mesh, {data, model}, 1e6),
                   5e-6 + 1e6 / 50e9);
  // Half of an axis runs over the links of the whole one.
  EXPECT_DOUBLE_EQ(getCollectiveTime(mesh, AxisRef{1, 1, 2}, 1e6),
                   getCollectiveTime(mesh, model, 1e6));
}

TEST(MachineTest, PlannerAndReportAgreeOnTime) {
  // 64 KiB summed along model, then the plan's own cost of the same.
  Mesh mesh = makeMesh();
  TensorSharding from = TensorSharding::replicate(1), to = from;
  from.unreduced = {AxisRef::full(mesh, 1)};
  ReshardPlanner planner(mesh);
  const ReshardPlan &plan = planner.plan(from, to, {16384}, 4);
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].getWire() * 4, 2 * 3 / 4.0 * 65536);
  EXPECT_NEAR(
      plan.cost,
      getCollectiveTime(mesh, plan.steps[0].axes, plan.steps[0].getWire() * 4),
      1e-12);
}

TEST(MachineTest, AnOpTakesTheLongerOfArithmeticAndTraffic) {
  Machine machine;
  machine.flops = 100;
  machine.memoryBandwidth = 10;
  EXPECT_EQ(getTime(machine, {1000, 10, true, 16}), 10);
  EXPECT_EQ(getTime(machine, {1000, 1000, true, 16}), 100);
  // Twice as wide, half as fast.
  EXPECT_EQ(getTime(machine, {1000, 10, true, 32}), 20);
}

} // namespace
