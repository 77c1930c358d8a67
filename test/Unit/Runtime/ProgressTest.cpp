// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Communicators/Progress.h"
#include "BesideWorld.h"
#include "CollectiveCases.h"
#include "LinkCases.h"
#include "RankRuns.h"
#include "TestKernels.h"
#include "runtime/Core/Session.h"

#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include <cstring>
#include <dirent.h>
#include <numeric>

using namespace tprt;
using namespace tprt::test;

namespace {

/// Runs body(world, progress) on each rank.
std::vector<absl::Status>
runBeside(int ranks, const ProgressOptions &options,
          const std::function<absl::Status(World &, Progress &)> &body) {
  return runRanks(ranks, options.timeout, [&](World &world) {
    TPRT_ASSIGN_OR_RETURN(std::unique_ptr<Progress> progress,
                          Progress::start(world, options));
    return progress->settle(body(world, *progress));
  });
}

/// A sum of as many floats, and what it is of: the artifact's row and memory
/// outlive ranks that fail, and so do these.
struct Sum {
  explicit Sum(int64_t count) : source(count, 1.0f), result(count) {
    row.dtype = DType::F32;
    row.reduction = Reduction::Sum;
    row.count = count;
  }
  CollectiveCall call(absl::string_view name) {
    return {&row,
            {},
            reinterpret_cast<const char *>(source.data()),
            reinterpret_cast<char *>(result.data()),
            name};
  }
  CollectiveRow row = {};
  std::vector<float> source, result;
};

std::vector<Sum> makeSums(int ranks, int64_t count = 1) {
  return std::vector<Sum>(ranks, Sum(count));
}

class BesideCollectives : public testing::TestWithParam<int> {};

TEST_P(BesideCollectives, ComputeTheirDefinition) {
  auto statuses = runBeside(GetParam(), {absl::Seconds(60)},
                            [](World &world, Progress &progress) {
                              BesideWorld beside(world, progress);
                              return checkCollectives(beside);
                            });
  for (const absl::Status &status : statuses)
    EXPECT_TRUE(status.ok()) << status;
}

INSTANTIATE_TEST_SUITE_P(Threads, BesideCollectives, testing::Values(1, 2, 3));

TEST(Progress, FinishesInAnyOrder) {
  std::vector<Sum> small = makeSums(2), large = makeSums(2, 100000);
  auto statuses =
      runBeside(2, {absl::Seconds(20)}, [&](World &world, Progress &progress) {
        int rank = world.getRank();
        TPRT_ASSIGN_OR_RETURN(auto group,
                              progress.split({0, 1}, {{0}, {1000, 0}}));
        for (int round = 0; round < 20; ++round) {
          small[rank].result[0] = large[rank].result[0] = 0;
          TPRT_RETURN_IF_ERROR(group->start(0, large[rank].call("large")));
          TPRT_RETURN_IF_ERROR(group->start(1, small[rank].call("small")));
          TPRT_RETURN_IF_ERROR(progress.check());
          TPRT_RETURN_IF_ERROR(group->finish(1));
          EXPECT_EQ(small[rank].result[0], 2.0f);
          TPRT_RETURN_IF_ERROR(group->finish(0));
          EXPECT_EQ(large[rank].result, std::vector<float>(100000, 2.0f));
        }
        return absl::OkStatus();
      });
  for (const absl::Status &status : statuses)
    EXPECT_TRUE(status.ok()) << status;
}

TEST(Progress, ARankThatFailsFreesTheOthersAtOnce) {
  absl::Time begin = absl::Now();
  std::vector<Sum> sums = makeSums(3);
  auto statuses =
      runBeside(3, {absl::Seconds(300)}, [&](World &world, Progress &progress) {
        int rank = world.getRank();
        TPRT_ASSIGN_OR_RETURN(auto group, progress.split({0, 1, 2}));
        TPRT_RETURN_IF_ERROR(group->start(0, sums[rank].call("first")));
        if (rank != 2)
          TPRT_RETURN_IF_ERROR(group->start(1, sums[rank].call("second")));
        // One of its own is under way while it fails.
        if (rank == 2)
          return makeError(ErrorCode::KernelFailed, "softmax returned 7");
        TPRT_RETURN_IF_ERROR(group->finish(0));
        return group->finish(1);
      });
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
  for (int rank : {0, 1}) {
    EXPECT_EQ(getErrorCode(statuses[rank]), ErrorCode::PeerFailed);
    EXPECT_NE(statuses[rank].message().find("softmax returned 7"),
              absl::string_view::npos)
        << statuses[rank];
  }
  EXPECT_EQ(getErrorCode(statuses[2]), ErrorCode::KernelFailed);
}

TEST(Progress, ARankThatDoesNotComeIsNamedWhileTheOtherComputes) {
  std::vector<Sum> sums = makeSums(2);
  auto statuses =
      runBeside(2, {absl::Seconds(1)}, [&](World &world, Progress &progress) {
        TPRT_ASSIGN_OR_RETURN(auto group, progress.split({0, 1}));
        if (world.getRank() == 0)
          TPRT_RETURN_IF_ERROR(group->start(0, sums[0].call("mlp.out")));
        absl::Status status;
        while ((status = progress.check()).ok())
          absl::SleepFor(absl::Milliseconds(10));
        return status;
      });
  EXPECT_EQ(getErrorCode(statuses[0]), ErrorCode::CollectiveTimeout);
  EXPECT_NE(statuses[0].message().find("rank 1 did not arrive"),
            absl::string_view::npos)
      << statuses[0];
  EXPECT_EQ(getErrorCode(statuses[1]), ErrorCode::PeerFailed);
}

TEST(Progress, ALinkSlowerThanTheDeadlineIsRefused) {
  std::vector<Sum> sums = makeSums(2);
  auto statuses =
      runBeside(2, {absl::Seconds(1)},
                [&](World &world, Progress &progress) -> absl::Status {
                  TPRT_ASSIGN_OR_RETURN(
                      auto group, progress.split({0, 1}, {{0}, {5e6, 0}}));
                  TPRT_RETURN_IF_ERROR(
                      group->start(0, sums[world.getRank()].call("mlp.out")));
                  return group->finish(0);
                });
  int timeouts = 0;
  for (const absl::Status &status : statuses) {
    EXPECT_FALSE(status.ok());
    timeouts += getErrorCode(status) == ErrorCode::CollectiveTimeout;
  }
  EXPECT_GE(timeouts, 1);
}

TEST(Progress, LeavesNoThreadBehind) {
  auto count = [] {
    int threads = 0;
    DIR *folder = opendir("/proc/self/task");
    while (readdir(folder))
      ++threads;
    closedir(folder);
    return threads;
  };
  int before = count();
  std::vector<Sum> sums = makeSums(2);
  for (bool fails : {false, true})
    runBeside(2, {absl::Seconds(20)},
              [&](World &world, Progress &progress) -> absl::Status {
                TPRT_ASSIGN_OR_RETURN(auto group, progress.split({0, 1}));
                int rank = world.getRank();
                if (rank == 0 || !fails)
                  TPRT_RETURN_IF_ERROR(group->start(0, sums[rank].call("x")));
                if (rank == 1 && fails)
                  return makeError(ErrorCode::KernelFailed, "failed");
                return group->finish(0);
              });
  EXPECT_EQ(count(), before);
}

/// A collective starts when the last rank does, and ends a link's time later.
TEST(Progress, TheLinkTakesItsTimeFromTheLastStartOn) {
  constexpr int64_t kCount = 500000; // 2 MB, of which a rank of two sends 2 MB
  std::vector<Sum> sums = makeSums(2, kCount);
  std::vector<absl::Time> starts(2), ends(2);
  auto statuses =
      runBeside(2, {absl::Seconds(20)}, [&](World &world, Progress &progress) {
        int rank = world.getRank();
        TPRT_ASSIGN_OR_RETURN(auto group,
                              progress.split({0, 1}, {{0}, {10000, 0.1}}));
        if (rank == 1)
          absl::SleepFor(absl::Milliseconds(100));
        starts[rank] = absl::Now();
        // The second waits for the link.
        TPRT_RETURN_IF_ERROR(group->start(0, sums[rank].call("first")));
        TPRT_RETURN_IF_ERROR(group->start(1, sums[rank].call("second")));
        TPRT_RETURN_IF_ERROR(group->finish(1));
        ends[rank] = absl::Now();
        TPRT_RETURN_IF_ERROR(group->finish(0));
        return absl::OkStatus();
      });
  for (const absl::Status &status : statuses)
    EXPECT_TRUE(status.ok()) << status;
  for (int rank : {0, 1}) // of 10 + 20 ms each
    EXPECT_GE(ends[rank] - starts[1], absl::Milliseconds(59.9));
  EXPECT_LT(ends[0] - starts[1], absl::Seconds(1));
}

/// What four ranks do that are two by two: pairs along a fast axis, and pairs
/// along a slow one.
struct Grid {
  Grid(Progress &progress, int rank, double slowUs)
      : slow(*progress.split({rank % 2, rank % 2 + 2}, {{0}, {slowUs, 0}})),
        fast(*progress.split({rank / 2 * 2, rank / 2 * 2 + 1},
                             {{1}, {1000, 0}})),
        both(*progress.split({0, 1, 2, 3}, {{0, 1}, {1000, 0}})) {}
  const std::unique_ptr<Communicator> slow, fast, both;
};

/// Fast collectives pass a slow one that was started before them. One along
/// both axes waits for it, and those that are started later wait for that one.
TEST(Progress, LinksCarryAtTheSameTime) {
  std::vector<Sum> slow = makeSums(4), fast = makeSums(4), all = makeSums(4);
  std::vector<absl::Duration> fastEnds(4), allEnds(4), lastEnds(4);
  auto statuses = runBeside(
      4, {absl::Seconds(20), 2}, [&](World &world, Progress &progress) {
        int rank = world.getRank();
        Grid grid(progress, rank, 300000);
        absl::Time begin = absl::Now();
        TPRT_RETURN_IF_ERROR(grid.slow->start(0, slow[rank].call("slow")));
        for (int round = 0; round < 5; ++round) {
          fast[rank].result[0] = 0;
          TPRT_RETURN_IF_ERROR(grid.fast->start(1, fast[rank].call("fast")));
          TPRT_RETURN_IF_ERROR(grid.fast->finish(1));
          EXPECT_EQ(fast[rank].result[0], 2.0f);
        }
        fastEnds[rank] = absl::Now() - begin;
        TPRT_RETURN_IF_ERROR(grid.both->start(2, all[rank].call("all")));
        TPRT_RETURN_IF_ERROR(grid.fast->start(1, fast[rank].call("fast")));
        TPRT_RETURN_IF_ERROR(grid.fast->finish(1));
        lastEnds[rank] = absl::Now() - begin;
        EXPECT_EQ(all[rank].result[0], 4.0f);
        EXPECT_EQ(slow[rank].result[0], 2.0f);
        TPRT_RETURN_IF_ERROR(grid.both->finish(2));
        CarriedTime bothTime = progress.getLastTime();
        TPRT_RETURN_IF_ERROR(grid.slow->finish(0));
        EXPECT_GE(bothTime.begin, progress.getLastTime().end);
        return absl::OkStatus();
      });
  for (const absl::Status &status : statuses)
    EXPECT_TRUE(status.ok()) << status;
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_LT(fastEnds[rank], absl::Milliseconds(250)) << rank;
    EXPECT_GE(lastEnds[rank], absl::Milliseconds(299)) << rank;
  }
}

/// With one link, the fast ones wait for the slow one.
TEST(Progress, OneLinkCarriesInOrder) {
  std::vector<Sum> slow = makeSums(2), fast = makeSums(2);
  auto statuses =
      runBeside(2, {absl::Seconds(20)}, [&](World &world, Progress &progress) {
        int rank = world.getRank();
        TPRT_ASSIGN_OR_RETURN(auto along,
                              progress.split({0, 1}, {{0}, {100000, 0}}));
        TPRT_ASSIGN_OR_RETURN(auto other,
                              progress.split({0, 1}, {{0}, {1000, 0}}));
        absl::Time begin = absl::Now();
        TPRT_RETURN_IF_ERROR(along->start(0, slow[rank].call("slow")));
        TPRT_RETURN_IF_ERROR(other->start(1, fast[rank].call("fast")));
        TPRT_RETURN_IF_ERROR(other->finish(1));
        EXPECT_GE(absl::Now() - begin, absl::Milliseconds(100));
        return along->finish(0);
      });
  for (const absl::Status &status : statuses)
    EXPECT_TRUE(status.ok()) << status;
}

TEST(Progress, RandomOrdersOnSeveralLinks) {
  auto statuses = runBeside(4, {absl::Seconds(60), kNumLinkCasesLinks},
                            [](World &world, Progress &progress) {
                              return checkLinks(world, progress);
                            });
  for (const absl::Status &status : statuses)
    EXPECT_TRUE(status.ok()) << status;
}

/// A rank fails while both links are busy: the others leave both, with its
/// cause, and so does what has not begun.
TEST(Progress, AFailureLeavesAllLinks) {
  absl::Time begin = absl::Now();
  std::vector<Sum> slow = makeSums(4), fast = makeSums(4), all = makeSums(4);
  auto statuses = runBeside(
      4, {absl::Seconds(300), 2},
      [&](World &world, Progress &progress) -> absl::Status {
        int rank = world.getRank();
        Grid grid(progress, rank, 100e6);
        TPRT_RETURN_IF_ERROR(grid.slow->start(0, slow[rank].call("slow")));
        if (rank == 3)
          return progress.settle(
              makeError(ErrorCode::KernelFailed, "softmax returned 7"));
        TPRT_RETURN_IF_ERROR(grid.fast->start(1, fast[rank].call("fast")));
        TPRT_RETURN_IF_ERROR(grid.both->start(2, all[rank].call("all")));
        // Rank 2 waits for rank 3, the others for the slow link.
        if (rank == 2)
          return grid.fast->finish(1);
        TPRT_RETURN_IF_ERROR(grid.fast->finish(1));
        return grid.both->finish(2);
      });
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
  for (int rank : {0, 1, 2}) {
    EXPECT_EQ(getErrorCode(statuses[rank]), ErrorCode::PeerFailed);
    EXPECT_NE(statuses[rank].message().find("softmax returned 7"),
              absl::string_view::npos)
        << statuses[rank];
  }
  EXPECT_EQ(getErrorCode(statuses[3]), ErrorCode::KernelFailed);
}

/// x summed over two ranks, and 200 ms of computing before its end or behind.
std::string makeSleepingProgram(bool overlaps) {
  TestProgram program({{"data", 2}});
  addObjectCode(program);
  program.addInput("x", DType::F32, {{8, {0}}});
  program.addOutput("y", DType::F32, {{8, {0}}});
  CollectiveRow sum = {};
  sum.communicator = program.writer.add(CommunicatorRow{program.axes({0})});
  sum.dtype = DType::F32;
  sum.reduction = Reduction::Sum;
  sum.count = 4;
  sum.source = program.buffer(Space::Input, 0, 16);
  sum.destination = program.buffer(Space::Output, 0, 16);
  uint32_t index = program.writer.add(sum);
  auto compute = [&] {
    addKernel(program, "sleep_at", {}, 0,
              {constant(0), constant(0), constant(200)}, 0);
  };
  program.addStep(StepKind::CollectiveStart, index, "sum");
  if (overlaps)
    compute();
  program.addStep(StepKind::CollectiveDone, index, "sum");
  if (!overlaps)
    compute();
  return program.finish();
}

TEST(Artifact, KnowsWhetherAnythingOverlaps) {
  for (bool overlaps : {false, true}) {
    auto artifact = Artifact::fromBytes(makeSleepingProgram(overlaps));
    ASSERT_TRUE(artifact.ok()) << artifact.status();
    EXPECT_EQ((*artifact)->overlaps(), overlaps);
  }
}

/// The link is busy for 20 s when a rank fails.
TEST(Progress, AFailedRunLeavesTheLink) {
  TestProgram program({{"model", 2}});
  buildFault(program, "fail_at", 1, 42, /*beside=*/true);
  auto artifact = Artifact::fromBytes(program.finish());
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  SessionOptions options;
  options.threads = 1;
  options.network.link.us = 20e6;
  auto session = Session::open(options, *artifact);
  ASSERT_TRUE(session.ok()) << session.status();
  absl::Time begin = absl::Now();
  absl::Status status = (*session)->run("main");
  EXPECT_EQ(getErrorCode(status), ErrorCode::KernelFailed) << status;
  (*session).reset();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
}

/// The same, of a run that takes longer than it may.
TEST(Progress, ALateRunLeavesTheLink) {
  TestProgram program({{"model", 2}});
  buildFault(program, "sleep_at", 1, 1, /*beside=*/true);
  auto artifact = Artifact::fromBytes(program.finish());
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  SessionOptions options;
  options.threads = 1;
  options.network.link.us = 20e6;
  options.runTimeout = absl::Milliseconds(200);
  auto session = Session::open(options, *artifact);
  ASSERT_TRUE(session.ok()) << session.status();
  absl::Time begin = absl::Now();
  absl::Status status = (*session)->run("main");
  EXPECT_EQ(getErrorCode(status), ErrorCode::RunTimeout) << status;
  (*session).reset();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
}

/// With 200 ms of computing and a link of 200 ms, the overlap takes about one
/// of them, and both one after the other take two.
TEST(Progress, ComputingHidesTheLink) {
  double millis[2];
  for (bool overlaps : {false, true}) {
    auto artifact = Artifact::fromBytes(makeSleepingProgram(overlaps));
    ASSERT_TRUE(artifact.ok()) << artifact.status();
    SessionOptions options;
    options.threads = 1;
    options.network.link.us = 200000;
    auto session = Session::open(options, *artifact);
    ASSERT_TRUE(session.ok()) << session.status();
    std::vector<float> x(8);
    std::iota(x.begin(), x.end(), 0.0f);
    ASSERT_TRUE((*session)
                    ->bind("x", DType::F32, {8},
                           {reinterpret_cast<const char *>(x.data()), 32})
                    .ok());
    (*session)->recordTimes(true);
    absl::Time begin = absl::Now();
    ASSERT_TRUE((*session)->run("main").ok());
    millis[overlaps] = absl::ToDoubleMilliseconds(absl::Now() - begin);
    auto y = (*session)->read("y");
    ASSERT_TRUE(y.ok()) << y.status();
    std::vector<float> values(8);
    std::memcpy(values.data(), y->data(), 32);
    EXPECT_EQ(values, (std::vector<float>{4, 6, 8, 10, 4, 6, 8, 10}));
    for (const Session::RankTimes &times : (*session)->takeTimes()) {
      int64_t exposed = 0, carried = 0;
      for (const StepTime &time : times.steps) {
        carried += time.carriedEnd - time.carriedBegin;
        if ((*artifact)->rows<StepRow>()[time.step].kind ==
            StepKind::CollectiveDone)
          exposed += time.end - time.begin;
      }
      EXPECT_GE(carried, 200 * 1000000);
      if (!overlaps)
        EXPECT_GE(exposed, 190 * 1000000);
      else
        EXPECT_LT(exposed, 150 * 1000000);
    }
  }
  EXPECT_GE(millis[false], 400);
  EXPECT_GE(millis[true], 200);
  EXPECT_LT(millis[true], millis[false] - 100);
}

} // namespace
