// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Emulated links between ranks, which determine how long a collective
/// takes. Ranks on one host have no network between them, so the cost of a
/// network is emulated; see Progress.h. Which axes share a link is part of the
/// program (MeshAxis::link).

#ifndef TPRT_COMMUNICATORS_LINK_H
#define TPRT_COMMUNICATORS_LINK_H

#include "runtime/Core/ArtifactFormat.h"

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include <string>
#include <vector>

namespace tprt {

/// Returns the bytes that each of `ranks` ranks sends on a ring for a
/// collective. A test checks that the compiler's cost model gives the same
/// number (getWireElements).
double getWireBytes(const CollectiveRow &row, int64_t ranks);

/// A launch takes `us` + bytes / `gbps`.
struct Link {
  double us = 0;   ///< Microseconds of each launch.
  double gbps = 0; ///< 1e9 bytes a second; 0: bytes take no time.

  bool isEmulated() const { return us > 0 || gbps > 0; }
  /// Returns the time of a collective among this many ranks; a single rank
  /// sends nothing. For a collective that joins the launch of the one before,
  /// the latency is not counted again.
  absl::Duration getTime(const CollectiveRow &row, int64_t ranks) const;
};

/// The emulated links of all axes of a mesh.
struct Network {
  struct AxisLink {
    std::string axis;
    Link link;
  };
  Link link; ///< Of the axes without a link in `axes`.
  std::vector<AxisLink> axes;

  bool isEmulated() const { return link.isEmulated() || !axes.empty(); }
  /// Returns the link of an axis.
  const Link &getLink(absl::string_view axis) const;
  /// Returns the speed of a collective along these axes: the longest latency
  /// and the lowest bandwidth among them.
  Link getSlowest(absl::Span<const absl::string_view> axes) const;
};

} // namespace tprt

#endif // TPRT_COMMUNICATORS_LINK_H
