// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Ranks that are threads of a test, without a session.

#ifndef TPOPT_TEST_UNIT_RUNTIME_RANKRUNS_H
#define TPOPT_TEST_UNIT_RUNTIME_RANKRUNS_H

#include "runtime/Communicators/ThreadWorld.h"

#include <functional>
#include <thread>

namespace tprt::test {

/// Runs body(world) on each rank and returns what each ended with.
inline std::vector<absl::Status>
runRanks(int ranks, absl::Duration timeout,
         const std::function<absl::Status(World &)> &body) {
  auto domain = std::make_shared<ThreadDomain>(ranks, timeout);
  std::vector<absl::Status> results(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      std::unique_ptr<World> world = makeThreadWorld(domain, rank);
      results[rank] = body(*world);
      if (!results[rank].ok())
        world->fail(results[rank]);
    });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

} // namespace tprt::test

#endif // TPOPT_TEST_UNIT_RUNTIME_RANKRUNS_H
