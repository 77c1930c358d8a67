// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Collectives of ranks on one host, in memory that they share. Unlike
/// with MPI messages, the last rank to arrive wakes the ranks that wait. So if
/// there are more ranks than cores, waiting ranks can sleep.
///
/// The group's memory has a few buffers, each with a block for every rank. A
/// collective takes as many stages as its data needs buffers. At a stage, each
/// rank writes its block; when all have, each reads what it needs from the
/// others' blocks; when all have read, the buffer is free again. All ranks
/// number the stages in the same way, since they run the same step table. Each
/// block records its collective and its run, so ranks that are out of step, or
/// were given different values, find out at once.

#ifndef TPRT_MPI_SHAREDCOMMUNICATOR_H
#define TPRT_MPI_SHAREDCOMMUNICATOR_H

#include "runtime/MPI/MpiWorld.h"

namespace tprt {

/// Makes the communicator of a group of ranks on one host. Returns null on all
/// ranks of the group if they are on several hosts or cannot share memory. All
/// ranks of the world call it, each with its own group.
absl::StatusOr<std::unique_ptr<Communicator>>
makeSharedCommunicator(MpiWorld &world, const std::vector<int> &group);

} // namespace tprt

#endif // TPRT_MPI_SHAREDCOMMUNICATOR_H
