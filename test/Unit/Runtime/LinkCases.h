// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Collectives on several links at once, whatever carries them.

#ifndef TPRT_TEST_LINKCASES_H
#define TPRT_TEST_LINKCASES_H

#include "runtime/Communicators/Progress.h"

namespace tprt::test {

inline constexpr uint32_t kNumLinkCasesLinks = 3;

/// All ranks call it; there is an even number of them, and `progress` has three
/// links. Sums of neighbors, of ranks two apart and of all, on one link or on
/// several, start in random orders and are finished in others. An error names a
/// sum that is wrong.
absl::Status checkLinks(World &world, Progress &progress);

} // namespace tprt::test

#endif // TPRT_TEST_LINKCASES_H
