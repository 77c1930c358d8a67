// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file One thread per local rank, kept between runs: libraries keep memory
/// per thread, and creating threads takes longer than a decode step.

#ifndef TPRT_CORE_RANKTHREADS_H
#define TPRT_CORE_RANKTHREADS_H

#include "runtime/Core/Futex.h"
#include "runtime/Core/Thread.h"

#include "absl/time/time.h"

#include <atomic>
#include <functional>
#include <vector>

namespace tprt {

class RankThreads {
public:
  explicit RankThreads(int count);
  /// Waits for the job under way.
  ~RankThreads();

  /// Returns LimitReached if not all of the threads could be started.
  absl::Status getStatus() const { return status; }
  /// Makes threads poll for their next job for a while before they sleep. Each
  /// thread must have its own core.
  void letSpin() { spins = true; }

  /// Runs job(i) on each thread i. No job may be under way.
  void start(std::function<void(int)> job);

  /// Returns true if the job ended within the time.
  bool wait(absl::Duration timeout = absl::InfiniteDuration());
  bool isBusy() const { return running.load() > 0; }

private:
  void serve(int index);
  /// Waits for a job other than the one numbered `seen`; returns false if no
  /// more jobs will come.
  bool awaitJob(uint32_t seen);

  std::atomic<bool> spins{false};
  /// Written between jobs, before `generation` is set.
  std::function<void(int)> job;
  Futex generation; ///< How many jobs there have been.
  Futex finished;   ///< How many of them have ended.
  std::atomic<int> running{0};
  std::atomic<bool> stopping{false};
  std::vector<Thread> threads;
  absl::Status status;
};

} // namespace tprt

#endif // TPRT_CORE_RANKTHREADS_H
