// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file NCCL without MPI, and what all who connect by NCCL share.

#ifndef TPRT_CUDA_NCCLWORLD_H
#define TPRT_CUDA_NCCLWORLD_H

#include "runtime/CUDA/Device.h"
#include "runtime/CUDA/Nccl.h"
#include "runtime/CUDA/Placement.h"
#include "runtime/Communicators/Communicator.h"

#include <string>

namespace tprt {

/// Waits until a communicator has done what it was last asked for; `check` may
/// end the waiting, and so does the timeout.
absl::Status settle(const Nccl &nccl, nccl::Comm comm, absl::string_view what,
                    absl::Duration timeout,
                    absl::FunctionRef<absl::Status()> check);

/// Ends a communicator in good order if the others do, within seconds.
void close(const Nccl &nccl, nccl::Comm comm);

/// For as long as it lives, new communicators find their rank 0 at this
/// address, "host:port". NCCL reads it from the environment: no other thread
/// may read that as a MeetingPlace begins or ends.
class MeetingPlace {
public:
  explicit MeetingPlace(const std::string &address);
  ~MeetingPlace();
  MeetingPlace(const MeetingPlace &) = delete;
  MeetingPlace &operator=(const MeetingPlace &) = delete;
};

/// The ranks of a job that torchrun or srun started, which meet at the
/// MeetingPlace of the launch. What they must agree on goes from GPU to GPU. A
/// rank that fails ends, on which the launcher ends the others; those on which
/// nobody does so end by their timeout.
absl::StatusOr<std::unique_ptr<World>>
createNcclWorld(const Launch &launch, int gpu, absl::Duration timeout);

} // namespace tprt

#endif // TPRT_CUDA_NCCLWORLD_H
