// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CollectiveCases.h"
#include "RankRuns.h"

#include "runtime/Communicators/Reduce.h"

#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace tprt;
using namespace tprt::test;

namespace {

std::vector<int> everyone(int ranks) {
  std::vector<int> group(ranks);
  for (int i = 0; i < ranks; ++i)
    group[i] = i;
  return group;
}

class Collectives : public testing::TestWithParam<int> {};

/// Every kind with every type, operation and size, against the definition.
TEST_P(Collectives, ComputeTheirDefinition) {
  auto statuses = runRanks(GetParam(), absl::Seconds(20), [](World &world) {
    return checkCollectives(world);
  });
  for (const absl::Status &status : statuses)
    EXPECT_TRUE(status.ok()) << status;
}

INSTANTIATE_TEST_SUITE_P(Threads, Collectives, testing::Values(1, 2, 3, 4, 8));

TEST(Reduce, GoesInOrderAndRoundsOnce) {
  // 2^24 + 1 + 1 in f32 from left to right stays 2^24; backwards it does not.
  float a = 0x1p24f, b = 1, c = 1, sum;
  const char *sources[] = {reinterpret_cast<const char *>(&a),
                           reinterpret_cast<const char *>(&b),
                           reinterpret_cast<const char *>(&c)};
  reduceInOrder(DType::F32, Reduction::Sum, sources, 1,
                reinterpret_cast<char *>(&sum));
  EXPECT_EQ(sum, 0x1p24f);
  // In bf16, 256 + 1 + 1 would stay 256 if each step were rounded.
  BFloat16 x(256.0f), y(1.0f), z(1.0f), total;
  const char *narrow[] = {reinterpret_cast<const char *>(&x),
                          reinterpret_cast<const char *>(&y),
                          reinterpret_cast<const char *>(&z)};
  reduceInOrder(DType::BF16, Reduction::Sum, narrow, 1,
                reinterpret_cast<char *>(&total));
  EXPECT_EQ(float(total), 258.0f);
}

TEST(Reduce, KeepsNaNAndWraps) {
  for (Reduction op : {Reduction::Sum, Reduction::Max, Reduction::Min})
    for (int place = 0; place < 2; ++place) {
      float values[2] = {1.0f, 1.0f}, result;
      values[place] = NAN;
      const char *sources[] = {reinterpret_cast<const char *>(&values[0]),
                               reinterpret_cast<const char *>(&values[1])};
      reduceInOrder(DType::F32, op, sources, 1,
                    reinterpret_cast<char *>(&result));
      EXPECT_TRUE(std::isnan(result)) << int(op) << place;
    }
  int32_t most = INT32_MAX, one = 1, result;
  const char *sources[] = {reinterpret_cast<const char *>(&most),
                           reinterpret_cast<const char *>(&one)};
  reduceInOrder(DType::I32, Reduction::Sum, sources, 1,
                reinterpret_cast<char *>(&result));
  EXPECT_EQ(result, INT32_MIN);
}

TEST(ThreadWorld, SplitsIntoGroups) {
  auto statuses = runRanks(4, absl::Seconds(20), [](World &world) {
    int rank = world.getRank();
    // Rows and columns of a 2 x 2 mesh, used in turn.
    auto row = world.split({rank / 2 * 2, rank / 2 * 2 + 1});
    auto column = world.split({rank % 2, rank % 2 + 2});
    int32_t value = 1 << 8 * rank, inRow = 0, inColumn = 0;
    CollectiveRow sum = {};
    sum.dtype = DType::I32;
    sum.reduction = Reduction::Sum;
    sum.count = 1;
    for (int round = 0; round < 100; ++round) {
      TPRT_RETURN_IF_ERROR(
          (*row)->start(0, {&sum,
                            {},
                            reinterpret_cast<const char *>(&value),
                            reinterpret_cast<char *>(&inRow),
                            "row"}));
      TPRT_RETURN_IF_ERROR(
          (*column)->start(1, {&sum,
                               {},
                               reinterpret_cast<const char *>(&value),
                               reinterpret_cast<char *>(&inColumn),
                               "column"}));
      int32_t r = rank / 2 * 2, c = rank % 2;
      EXPECT_EQ(inRow, (1 << 8 * r) + (1 << 8 * (r + 1)));
      EXPECT_EQ(inColumn, (1 << 8 * c) + (1 << 8 * (c + 2)));
    }
    return absl::OkStatus();
  });
  for (const absl::Status &status : statuses)
    EXPECT_TRUE(status.ok()) << status;
}

TEST(ThreadWorld, Exchanges) {
  auto statuses = runRanks(3, absl::Seconds(20), [](World &world) {
    auto all = world.exchange(std::string(world.getRank(), 'a'), "greeting");
    EXPECT_TRUE(all.ok());
    EXPECT_EQ(*all, (std::vector<std::string>{"", "a", "aa"}));
    return all.status();
  });
  for (const absl::Status &status : statuses)
    EXPECT_TRUE(status.ok()) << status;
}

absl::Status sumOne(World &world, Communicator &group, uint32_t index,
                    const char *name) {
  // As the artifact's rows do, it outlives ranks that fail.
  static const CollectiveRow sum = [] {
    CollectiveRow row = {};
    row.dtype = DType::F32;
    row.reduction = Reduction::Sum;
    row.count = 1;
    return row;
  }();
  float value = 1, result = 0;
  return group.start(index, {&sum,
                             {},
                             reinterpret_cast<const char *>(&value),
                             reinterpret_cast<char *>(&result),
                             name});
}

TEST(ThreadWorld, NamesTheRankThatDoesNotCome) {
  auto statuses = runRanks(3, absl::Seconds(1), [](World &world) {
    auto group = world.split(everyone(3));
    TPRT_RETURN_IF_ERROR(world.exchange("", "starting together").status());
    if (world.getRank() != 1)
      return sumOne(world, **group, 0, "mlp.out");
    absl::Status status; // until the others have given up
    while ((status = world.check()).ok())
      absl::SleepFor(absl::Milliseconds(10));
    return status;
  });
  int timeouts = 0;
  for (int rank : {0, 2}) {
    timeouts += getErrorCode(statuses[rank]) == ErrorCode::CollectiveTimeout;
    EXPECT_NE(statuses[rank].message().find("all_reduce 'mlp.out'"),
              absl::string_view::npos);
    EXPECT_NE(statuses[rank].message().find("rank 1 did not arrive"),
              absl::string_view::npos)
        << statuses[rank];
  }
  EXPECT_GE(timeouts, 1);
  EXPECT_EQ(getErrorCode(statuses[1]), ErrorCode::PeerFailed);
}

TEST(ThreadWorld, AFailedRankFreesTheOthersAtOnce) {
  absl::Time begin = absl::Now();
  auto statuses = runRanks(4, absl::Seconds(300), [](World &world) {
    auto group = world.split(everyone(4));
    if (world.getRank() == 2)
      return makeError(ErrorCode::KernelFailed, "rank 2: softmax returned 7");
    return sumOne(world, **group, 0, "mlp.out");
  });
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
  for (int rank : {0, 1, 3}) {
    EXPECT_EQ(getErrorCode(statuses[rank]), ErrorCode::PeerFailed);
    EXPECT_NE(statuses[rank].message().find("softmax returned 7"),
              absl::string_view::npos);
  }
}

TEST(ThreadWorld, NamesBothSidesOfAMismatch) {
  auto statuses = runRanks(2, absl::Seconds(300), [](World &world) {
    auto group = world.split(everyone(2));
    bool first = world.getRank() == 0;
    return sumOne(world, **group, first ? 0 : 1, first ? "left" : "right");
  });
  int mismatches = 0;
  for (const absl::Status &status : statuses)
    mismatches += getErrorCode(status) == ErrorCode::CollectiveMismatch;
  EXPECT_GE(mismatches, 1);
  EXPECT_NE(statuses[0].message().find("'right'"), absl::string_view::npos);
  EXPECT_NE(statuses[0].message().find("'left'"), absl::string_view::npos);
}

} // namespace
