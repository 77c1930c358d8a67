// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CPU/Team.h"

#include "runtime/Core/Thread.h"

#include "absl/time/clock.h"

#include "gtest/gtest.h"

#include <set>
#include <thread>

using namespace tprt;

namespace {

TEST(Team, EachPartIsComputedOnce) {
  for (int threads : {1, 2, 3, 8})
    for (bool hasCores : {false, true}) {
      Team team(threads, hasCores);
      ASSERT_TRUE(team.start().ok());
      std::vector<std::atomic<int>> counts(threads);
      int jobs = 2000;
      for (int job = 1; job <= jobs; ++job) {
        team.run([&](int part, int parts) {
          ASSERT_EQ(parts, threads);
          ++counts[part];
        });
        for (const std::atomic<int> &count : counts)
          ASSERT_EQ(count, job) << threads;
      }
    }
}

/// Threads that sleep in between are woken.
TEST(Team, JobsAfterAPause) {
  Team team(3, /*hasCores=*/true);
  ASSERT_TRUE(team.start().ok());
  for (int job = 0; job < 20; ++job) {
    absl::SleepFor(absl::Milliseconds(job % 2 == 0 ? 3 : 0));
    std::atomic<int> sum{0};
    team.run([&](int part, int) { sum += part + 1; });
    ASSERT_EQ(sum, 6);
  }
}

/// Parts that take long are on different threads.
TEST(Team, ThreadsShareTheWork) {
  Team team(3, /*hasCores=*/true);
  ASSERT_TRUE(team.start().ok());
  std::mutex mutex;
  std::set<std::thread::id> threads;
  team.run([&](int, int) {
    absl::SleepFor(absl::Milliseconds(200));
    std::lock_guard<std::mutex> lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 3u);
}

/// Threads that were never started are as late as can be.
TEST(Team, AMissingThreadIsNotWaitedFor) {
  Team team(4, /*hasCores=*/true);
  std::set<int> parts;
  team.run([&](int part, int) { parts.insert(part); });
  team.run([&](int part, int) { parts.insert(part + 4); });
  EXPECT_EQ(parts, (std::set<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Team, EndsAtOnce) {
  for (int repeat = 0; repeat < 50; ++repeat) {
    Team team(4, /*hasCores=*/repeat % 2);
    ASSERT_TRUE(team.start().ok());
    if (repeat % 3 == 0)
      team.run([](int, int) {});
  }
}

TEST(Team, PartsAreEvenAndComplete) {
  for (int64_t count : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{64},
                        std::numeric_limits<int64_t>::max() - 1})
    for (int parts : {1, 3, 8}) {
      int64_t last = 0;
      for (int part = 0; part < parts; ++part) {
        auto [begin, end] = Team::split(count, part, parts);
        EXPECT_EQ(begin, last);
        EXPECT_LE(end - begin, count / parts + 1);
        EXPECT_GE(end - begin, count / parts);
        last = end;
      }
      EXPECT_EQ(last, count);
    }
}

} // namespace
