// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The World of a rank that uses NCCL and no MPI, and helpers for other
/// code that uses NCCL communicators.

#ifndef TPRT_CUDA_NCCLWORLD_H
#define TPRT_CUDA_NCCLWORLD_H

#include "runtime/CUDA/Device.h"
#include "runtime/CUDA/Nccl.h"
#include "runtime/CUDA/Placement.h"
#include "runtime/Communicators/Communicator.h"

#include <string>

namespace tprt {

/// Waits until a communicator has finished its last operation. The timeout, or
/// an error from `check`, ends the wait.
absl::Status settle(const Nccl &nccl, nccl::Comm comm, absl::string_view what,
                    absl::Duration timeout,
                    absl::FunctionRef<absl::Status()> check);

/// Shuts a communicator down cleanly if the other ranks do so within seconds.
void close(const Nccl &nccl, nccl::Comm comm);

/// While this object lives, new communicators find their rank 0 at this
/// address, "host:port". NCCL reads it from the environment: no other thread
/// may read the environment while a MeetingPlace is created or destroyed.
class MeetingPlace {
public:
  explicit MeetingPlace(const std::string &address);
  ~MeetingPlace();
  MeetingPlace(const MeetingPlace &) = delete;
  MeetingPlace &operator=(const MeetingPlace &) = delete;
};

/// The ranks of a job that torchrun or srun started, which meet at the
/// MeetingPlace of the launch. Data on which they must agree is sent from GPU
/// to GPU. When a rank fails, its process ends, and the launcher ends the
/// others; if the launcher does not, they end after their timeout.
absl::StatusOr<std::unique_ptr<World>>
createNcclWorld(const Launch &launch, int gpu, absl::Duration timeout);

} // namespace tprt

#endif // TPRT_CUDA_NCCLWORLD_H
