// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/Placement.h"

#include "absl/strings/numbers.h"

#include <cstdlib>

using namespace tprt;

/// Reads the number that an environment variable holds; false if there is none.
static bool readNumber(const char *variable, int &number) {
  const char *value = std::getenv(variable);
  return value && absl::SimpleAtoi(value, &number) && number >= 0;
}

int tprt::getLocalRank() {
  int local = 0;
  for (const char *variable : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                               "LOCAL_RANK", "SLURM_LOCALID"})
    if (readNumber(variable, local))
      return local;
  return 0;
}

absl::StatusOr<int> tprt::chooseGpu(int rank, int local, int count,
                                    bool isProcess) {
  // A launcher may show each process only its own GPU.
  if (isProcess && count == 1 && std::getenv("CUDA_VISIBLE_DEVICES"))
    return 0;
  if (local < count)
    return local;
  return makeError(ErrorCode::GpuMissing, "rank ", rank, " is process number ",
                   local, " on this machine, but the machine has ", count,
                   " GPUs: use fewer ranks, or --backend=virtual to run all "
                   "ranks on one GPU");
}

absl::StatusOr<Launch> tprt::readLaunch() {
  Launch launch = {};
  std::string host;
  int port = 0;
  auto getText = [](const char *variable) {
    const char *value = std::getenv(variable);
    return std::string(value ? value : "");
  };
  if (readNumber("RANK", launch.rank) &&
      readNumber("WORLD_SIZE", launch.size)) {
    host = getText("MASTER_ADDR");
    if (readNumber("MASTER_PORT", port))
      ++port;
  } else if (readNumber("SLURM_PROCID", launch.rank) &&
             readNumber("SLURM_STEP_NUM_TASKS", launch.size)) {
    constexpr int firstPort = 20000, ports = 20000;
    int job = 0;
    host = getText("SLURM_LAUNCH_NODE_IPADDR");
    if (readNumber("SLURM_JOB_ID", job))
      port = firstPort + job % ports;
  } else {
    return makeError(
        ErrorCode::BadOption,
        "the environment does not contain the rank of this process; start the "
        "program by torchrun, srun or mpirun, or do not choose a transport");
  }
  launch.address = getText("NCCL_COMM_ID");
  if (launch.address.empty() && !host.empty() && port > 0)
    launch.address = absl::StrCat(host, ":", port);
  if (launch.rank >= launch.size || launch.address.empty())
    return makeError(
        ErrorCode::BadOption, "the environment says rank ", launch.rank, " of ",
        launch.size,
        ", but not the address of rank 0; set NCCL_COMM_ID=HOST:PORT");
  return launch;
}
