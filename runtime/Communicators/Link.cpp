// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Communicators/Link.h"

#include <algorithm>

using namespace tprt;

double tprt::getWireBytes(const CollectiveRow &row, int64_t ranks) {
  double bytes = static_cast<double>(row.count) * getSize(row.dtype);
  auto others = static_cast<double>(ranks - 1);
  switch (row.kind) {
  case CollectiveKind::AllReduce:
    return 2 * others / static_cast<double>(ranks) * bytes;
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    // `count` elements are the block of one rank, or what a rank sends to one
    // peer.
    return others * bytes;
  case CollectiveKind::CollectivePermute:
    return bytes;
  }
  return 0;
}

absl::Duration Link::getTime(const CollectiveRow &row, int64_t ranks) const {
  if (ranks < 2)
    return absl::ZeroDuration();
  absl::Duration time = absl::Microseconds(row.joined ? 0 : us);
  if (gbps > 0)
    time += absl::Nanoseconds(getWireBytes(row, ranks) / gbps);
  return time;
}

const Link &Network::getLink(absl::string_view axis) const {
  for (const AxisLink &own : axes)
    if (own.axis == axis)
      return own.link;
  return link;
}

Link Network::getSlowest(absl::Span<const absl::string_view> along) const {
  Link slowest;
  for (absl::string_view axis : along) {
    const Link &own = getLink(axis);
    slowest.us = std::max(slowest.us, own.us);
    if (own.gbps > 0)
      slowest.gbps =
          slowest.gbps > 0 ? std::min(slowest.gbps, own.gbps) : own.gbps;
  }
  return slowest;
}
