// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Each process checks the collectives of all of them.
///
///     mpirun -n 4 tprt-mpi-collectives

#include "CollectiveCases.h"

#include "runtime/Core/Backend.h"

#include <cstdio>

using namespace tprt;

static absl::Status run() {
  TPRT_ASSIGN_OR_RETURN(Plugin::CreateWorld createWorld, loadTransport("mpi"));
  TPRT_ASSIGN_OR_RETURN(std::unique_ptr<World> world,
                        createWorld(absl::Seconds(20)));
  TPRT_RETURN_IF_ERROR(world->connect());
  absl::Status status = checkCollectives(*world);
  if (!status.ok()) {
    world->fail(status);
    world->depart();
    return status;
  }
  TPRT_RETURN_IF_ERROR(world->part());
  return world->finalize();
}

int main() {
  absl::Status status = run();
  std::string text = status.ok() ? "right" : status.ToString();
  std::printf("%s\n", text.c_str());
  return status.ok() ? 0 : 1;
}
