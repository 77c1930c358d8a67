// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Each process checks the collectives of all of them.
///
///     mpirun -n 4 tprt-mpi-collectives
///     mpirun -n 4 tprt-mpi-collectives beside    # by a thread of their own
///     mpirun -n 4 tprt-mpi-collectives links     # on three links at once

#include "BesideWorld.h"
#include "CollectiveCases.h"
#include "LinkCases.h"

#include "runtime/Core/Backend.h"

#include <cstdio>

using namespace tprt;

static absl::Status check(World &world, absl::string_view mode) {
  if (mode.empty())
    return checkCollectives(world);
  TPRT_ASSIGN_OR_RETURN(
      std::unique_ptr<Progress> progress,
      Progress::start(world, {absl::Seconds(20), test::kNumLinkCasesLinks}));
  if (mode == "links")
    return progress->settle(test::checkLinks(world, *progress));
  test::BesideWorld besides(world, *progress);
  return progress->settle(checkCollectives(besides));
}

static absl::Status run(absl::string_view mode) {
  TPRT_ASSIGN_OR_RETURN(Plugin::CreateWorld createWorld, loadTransport("mpi"));
  TPRT_ASSIGN_OR_RETURN(std::unique_ptr<World> world,
                        createWorld(absl::Seconds(20)));
  TPRT_RETURN_IF_ERROR(world->connect());
  absl::Status status = check(*world, mode);
  if (!status.ok()) {
    world->fail(status);
    world->depart();
    return status;
  }
  TPRT_RETURN_IF_ERROR(world->part());
  return world->finalize();
}

int main(int argc, char **argv) {
  absl::Status status = run(argc > 1 ? argv[1] : "");
  std::string text = status.ok() ? "right" : status.ToString();
  std::printf("%s\n", text.c_str());
  return status.ok() ? 0 : 1;
}
