// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/LargePages.h"

#include "gtest/gtest.h"

#include <limits>
#include <map>

using namespace tprt;

namespace {

/// Buffers of every size, several chunks of them, and one larger than a chunk.
TEST(LargePages, BuffersAreAlignedAndApart) {
  LargePages pages;
  std::map<char *, uint64_t> buffers;
  for (uint64_t size : {0, 0, 1, 63, 64, 65, 4096, 20 << 20, 20 << 20, 1,
                        70 << 20, 3 << 20, 0}) {
    absl::StatusOr<char *> buffer = pages.allocate(size);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*buffer) % 64, 0u);
    std::memset(*buffer, 1, size); // is all there
    EXPECT_TRUE(buffers.emplace(*buffer, size).second);
  }
  const char *end = nullptr;
  for (auto [buffer, size] : buffers) {
    EXPECT_GE(buffer, end);
    end = buffer + size;
  }
}

TEST(LargePages, WhatCannotBeHadIsAnError) {
  LargePages pages;
  ASSERT_TRUE(pages.allocate(100).ok());
  for (uint64_t size :
       {std::numeric_limits<uint64_t>::max(),
        std::numeric_limits<uint64_t>::max() - 64, uint64_t{1} << 62})
    EXPECT_EQ(getErrorCode(pages.allocate(size).status()),
              ErrorCode::OutOfMemory);
  EXPECT_TRUE(pages.allocate(100).ok());
}

TEST(LargePages, CanBeUsedAgain) {
  LargePages pages;
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (int i = 0; i < 20; ++i) {
      absl::StatusOr<char *> buffer = pages.allocate(5 << 20);
      ASSERT_TRUE(buffer.ok());
      std::memset(*buffer, i, 5 << 20);
    }
    pages.clear();
  }
}

} // namespace
