// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Finds which rank this process is and which GPU it gets, from the
/// environment variables of the program that started it:
///
///               rank         of                    on this machine
///     Open MPI  (MPI)        (MPI)                 OMPI_COMM_WORLD_LOCAL_RANK
///     MPICH     (MPI)        (MPI)                 MPI_LOCALRANKID
///     torchrun  RANK         WORLD_SIZE            LOCAL_RANK
///     srun      SLURM_PROCID SLURM_STEP_NUM_TASKS  SLURM_LOCALID
///
/// The last two have no MPI. With them, NCCL itself finds rank 0 at
/// NCCL_COMM_ID. Unless that is set, it is formed from MASTER_ADDR and the port
/// after MASTER_PORT (torchrun itself uses MASTER_PORT), or of
/// SLURM_LAUNCH_NODE_IPADDR and a port derived from the job's number.

#ifndef TPRT_CUDA_PLACEMENT_H
#define TPRT_CUDA_PLACEMENT_H

#include "runtime/Core/Errors.h"

#include <string>

namespace tprt {

/// Returns the index of this process among the job's processes on its machine;
/// 0 if the environment does not say.
int getLocalRank();

/// Returns the GPU for the rank with index `local` on its machine, which has
/// `count` GPUs. A process may see only its own GPU.
absl::StatusOr<int> chooseGpu(int rank, int local, int count, bool isProcess);

struct Launch {
  int rank;
  int size;
  std::string address; ///< The address of rank 0, `host:port`.
};

/// Returns the settings of torchrun or srun, or BadOption if neither of them
/// started this process.
absl::StatusOr<Launch> readLaunch();

} // namespace tprt

#endif // TPRT_CUDA_PLACEMENT_H
