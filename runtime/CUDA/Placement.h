// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Which rank this process is and which GPU it gets, as the program that
/// started it says in the environment:
///
///               rank         of                    on this machine
///     Open MPI  (MPI)        (MPI)                 OMPI_COMM_WORLD_LOCAL_RANK
///     MPICH     (MPI)        (MPI)                 MPI_LOCALRANKID
///     torchrun  RANK         WORLD_SIZE            LOCAL_RANK
///     srun      SLURM_PROCID SLURM_STEP_NUM_TASKS  SLURM_LOCALID
///
/// The last two have no MPI: NCCL itself then finds rank 0 at NCCL_COMM_ID,
/// which is made of MASTER_ADDR and the port after MASTER_PORT (torchrun keeps
/// that one), or of SLURM_LAUNCH_NODE_IPADDR and a port by the number of the
/// job, unless it is set.

#ifndef TPRT_CUDA_PLACEMENT_H
#define TPRT_CUDA_PLACEMENT_H

#include "runtime/Core/Errors.h"

#include <string>

namespace tprt {

/// The place of this process among those of the job on its machine; 0 if nobody
/// says.
int getLocalRank();

/// The GPU of a rank that is number `local` on its machine, which has `count`.
/// A process may see one only, its own.
absl::StatusOr<int> chooseGpu(int rank, int local, int count, bool isProcess);

struct Launch {
  int rank;
  int size;
  std::string address; ///< Of rank 0, `host:port`.
};

/// What torchrun or srun says; BadOption if neither started this process.
absl::StatusOr<Launch> readLaunch();

} // namespace tprt

#endif // TPRT_CUDA_PLACEMENT_H
