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
/// Under torchrun and srun, MPI is not used, and NCCL finds rank 0 at the
/// address in NCCL_COMM_ID. If that is not set, the address is made from other
/// variables. For torchrun, it is MASTER_ADDR and the port after MASTER_PORT,
/// as torchrun itself uses MASTER_PORT. For srun, it is
/// SLURM_LAUNCH_NODE_IPADDR and a port that depends on the job's number.

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
