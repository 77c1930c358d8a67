// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/RankThreads.h"

#include "gtest/gtest.h"

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

using namespace tprt;

namespace {

/// Jobs in quick succession find the threads awake, others asleep; every
/// thread does each of them once, with what was written before it.
TEST(RankThreads, EveryThreadDoesEveryJobOnce) {
  constexpr int kThreads = 3, kJobs = 600;
  std::array<int, kThreads> done = {};
  RankThreads threads(kThreads);
  int input = 0;
  for (int job = 0; job < kJobs; ++job) {
    if (job % 100 == 99)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    input = job;
    threads.start([&, job](int i) { done[i] += input == job ? 1 : kJobs; });
    ASSERT_TRUE(threads.wait());
    ASSERT_FALSE(threads.isBusy());
    for (int count : done)
      ASSERT_EQ(count, job + 1);
  }
}

TEST(RankThreads, WaitsNoLongerThanAsked) {
  std::atomic<bool> mayEnd{false};
  RankThreads threads(2);
  threads.start([&](int) {
    while (!mayEnd)
      std::this_thread::yield();
  });
  EXPECT_FALSE(threads.wait(absl::Milliseconds(5)));
  EXPECT_TRUE(threads.isBusy());
  mayEnd = true;
  EXPECT_TRUE(threads.wait());
}

/// With and without a job behind them, awake and asleep.
TEST(RankThreads, EndWithTheirOwner) {
  for (int pause : {0, 2}) {
    RankThreads idle(2);
    RankThreads used(2);
    std::atomic<int> done{0};
    used.start([&](int) { ++done; });
    used.wait();
    EXPECT_EQ(done, 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
  }
}

} // namespace
