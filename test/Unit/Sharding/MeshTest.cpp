// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Sharding/Mesh.h"

#include "gtest/gtest.h"

using namespace tp;

namespace {

Mesh makeMesh() {
  return Mesh{"mesh", {{"x", 2, {}}, {"y", 4, {}}}, {}, false};
}

// Devices are numbered row-major, first axis slowest, and back.
TEST(Mesh, NumbersDevicesRowMajor) {
  Mesh mesh = makeMesh();
  EXPECT_EQ(mesh.getNumDevices(), 8);
  EXPECT_EQ(mesh.getNumber({1, 2}), 6);
  for (int64_t device = 0; device < 8; ++device)
    EXPECT_EQ(mesh.getNumber(mesh.getCoordinates(device)), device);
}

} // namespace
