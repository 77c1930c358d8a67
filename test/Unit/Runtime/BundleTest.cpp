// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Inputs that lie side by side, in the host's memory and in a GPU's.

#include "CudaSurroundings.h"

#include "gtest/gtest.h"

using namespace tprt;
using namespace tprt::test;

namespace {

/// What is bound to each is found in its rows, and read back as it was given.
TEST(Bundles, InterleaveRows) {
  for (const char *backend : {"cpu", "cuda"}) {
    TestProgram program;
    uint32_t q =
        program.addInput("q", DType::F32, {{2, {}}, {3, {}}}, Role::Parameter);
    uint32_t k =
        program.addInput("k", DType::F32, {{2, {}}, {1, {}}}, Role::Parameter);
    uint32_t y = program.addOutput("y", DType::F32, {{8, {}}});
    program.writer.add(
        BundleRow{program.writer.addAll<int64_t>({q, k}), /*rows=*/2});
    CopyRow copy = {};
    copy.rank = 1;
    copy.dtype = DType::F32;
    copy.sizes[0] = 8;
    copy.source = program.buffer(Space::Bundle, 0, 32);
    copy.from.strides[0] = copy.to.strides[0] = 1;
    copy.destination = program.buffer(Space::Output, y, 32);
    program.addStep(StepKind::Copy, program.writer.add(copy));
    auto session = open(program, backend);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE((*session)
                    ->bind("q", DType::F32, {2, 3},
                           toBytes(std::vector<float>{1, 2, 3, 4, 5, 6}))
                    .ok());
    ASSERT_TRUE(
        (*session)
            ->bind("k", DType::F32, {2, 1}, toBytes(std::vector<float>{7, 8}))
            .ok());
    absl::Status status = (*session)->run("main");
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(areSame(*(*session)->read("y"),
                        toBytes(std::vector<float>{1, 2, 3, 7, 4, 5, 6, 8})));
    EXPECT_TRUE(areSame(*(*session)->readInput("q"),
                        toBytes(std::vector<float>{1, 2, 3, 4, 5, 6})));
    EXPECT_TRUE(areSame(*(*session)->readInput("k"),
                        toBytes(std::vector<float>{7, 8})));
  }
}

} // namespace
