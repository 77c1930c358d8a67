// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file One thread per local rank, kept from run to run: libraries below keep
/// memory per thread, and a decode step is shorter than making threads.

#ifndef TPRT_CORE_RANKTHREADS_H
#define TPRT_CORE_RANKTHREADS_H

#include "runtime/Core/Thread.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
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

  /// LimitReached if not all of the threads could be started.
  absl::Status getStatus() const { return status; }

  /// Runs job(i) on each thread i. No job may be under way.
  void start(std::function<void(int)> job);

  /// Whether the job ended within the time.
  bool wait(absl::Duration timeout = absl::InfiniteDuration());
  bool isBusy();

private:
  void serve(int index);
  /// Waits for a job other than the `seen`-th; whether there is one.
  bool awaitJob(uint64_t seen);

  absl::Mutex mutex;
  /// Written between jobs, before its generation.
  std::function<void(int)> job;
  std::atomic<uint64_t> generation{0};
  int running ABSL_GUARDED_BY(mutex) = 0;
  bool stopping ABSL_GUARDED_BY(mutex) = false;
  std::vector<Thread> threads;
  absl::Status status;
};

} // namespace tprt

#endif // TPRT_CORE_RANKTHREADS_H
