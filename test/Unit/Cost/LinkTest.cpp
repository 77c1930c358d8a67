// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The runtime's emulated link sends what the cost model counts.

#include "runtime/Communicators/Link.h"
#include "tpopt/Sharding/Reshard.h"

#include "gtest/gtest.h"

namespace {

struct LinkKind {
  tprt::CollectiveKind ran;
  tp::CollectiveKind planned;
  bool isPart; ///< Whether the runtime counts a rank's part of the payload.
};

constexpr LinkKind kLinkKinds[] = {
    {tprt::CollectiveKind::AllReduce, tp::CollectiveKind::AllReduce, false},
    {tprt::CollectiveKind::AllGather, tp::CollectiveKind::AllGather, true},
    {tprt::CollectiveKind::ReduceScatter, tp::CollectiveKind::ReduceScatter,
     true},
    {tprt::CollectiveKind::AllToAll, tp::CollectiveKind::AllToAll, true},
    {tprt::CollectiveKind::CollectivePermute,
     tp::CollectiveKind::CollectivePermute, false}};

TEST(LinkTest, SendsWhatTheCostModelCounts) {
  static_assert(std::size(kLinkKinds) == tprt::kNumCollectives);
  for (const LinkKind &kind : kLinkKinds)
    for (int64_t ranks : {2, 3, 8, 64})
      for (int64_t count : {0, 1, 1000, 123457}) {
        tprt::CollectiveRow row = {};
        row.kind = kind.ran;
        row.dtype = tprt::DType::BF16;
        row.count = count;
        double elements = tp::getWireElements(
            kind.planned, ranks, kind.isPart ? count * ranks : count);
        EXPECT_NEAR(tprt::getWireBytes(row, ranks), 2 * elements,
                    1e-9 * elements)
            << static_cast<int>(kind.ran) << ", " << ranks << " ranks";
      }
}

TEST(LinkTest, TakesLatencyAndBytes) {
  tprt::CollectiveRow row = {};
  row.kind = tprt::CollectiveKind::AllReduce;
  row.dtype = tprt::DType::F32;
  row.count = 1000000; // of two ranks, each sends 4 MB
  EXPECT_EQ((tprt::Link{20, 2}.getTime(row, 2)), absl::Microseconds(2020));
  EXPECT_EQ((tprt::Link{20, 0}.getTime(row, 2)), absl::Microseconds(20));
  EXPECT_EQ((tprt::Link{0, 2}.getTime(row, 2)), absl::Microseconds(2000));
  EXPECT_EQ((tprt::Link{20, 2}.getTime(row, 1)), absl::ZeroDuration());
  // It adds no start to the launch that it joins.
  row.joined = 1;
  EXPECT_EQ((tprt::Link{20, 2}.getTime(row, 2)), absl::Microseconds(2000));
  EXPECT_FALSE((tprt::Link{}.isEmulated()));
}

TEST(LinkTest, ACollectiveIsAsSlowAsItsSlowestAxis) {
  tprt::Network network;
  EXPECT_FALSE(network.isEmulated());
  network.axes = {{"data", {100, 2}}, {"pod", {500, 0}}};
  EXPECT_TRUE(network.isEmulated());
  network.link = {5, 50};
  auto getSlowest = [&](std::vector<absl::string_view> axes) {
    tprt::Link link = network.getSlowest(axes);
    return std::pair(link.us, link.gbps);
  };
  EXPECT_EQ(getSlowest({"model"}), std::pair(5.0, 50.0));
  EXPECT_EQ(getSlowest({"data"}), std::pair(100.0, 2.0));
  EXPECT_EQ(getSlowest({"model", "data"}), std::pair(100.0, 2.0));
  // No limit of bandwidth along one axis leaves that of the other.
  EXPECT_EQ(getSlowest({"pod"}), std::pair(500.0, 0.0));
  EXPECT_EQ(getSlowest({"data", "pod"}), std::pair(500.0, 2.0));
  EXPECT_EQ(getSlowest({}), std::pair(0.0, 0.0));
}

} // namespace
