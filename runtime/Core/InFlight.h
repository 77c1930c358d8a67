// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Checks that nothing touches the memory of collectives in flight.
/// Between its start and its done step, a collective may read its source and
/// write its destination at any time. So in between
///
///   * no step writes a byte of the source,
///   * no step reads or writes a byte of the destination,
///   * and the done step is in the same region as the start step: a body does
///     not end before the collectives that it has started.
///
/// It makes no difference where the bytes are: in the arena, in an output, or
/// in an input that an output overwrites. If there is a loop between start and
/// done, the accesses in all of its iterations count. If a loop around start,
/// step and done advances the address of a buffer, the accesses are compared
/// iteration by iteration; if the address depends on the rank, they are
/// compared rank by rank.

#ifndef TPRT_CORE_INFLIGHT_H
#define TPRT_CORE_INFLIGHT_H

#include "runtime/Core/Artifact.h"

#include "absl/status/status.h"

namespace tprt {

/// Checks an entry that has passed verifySteps.
absl::Status verifyInFlight(const Artifact &artifact, const EntryRow &entry);

} // namespace tprt

#endif // TPRT_CORE_INFLIGHT_H
