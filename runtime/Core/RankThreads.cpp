// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/RankThreads.h"

#include <chrono>
#include <sched.h>

using namespace tprt;

/// How long a thread looks for its next job before it sleeps.
static constexpr std::chrono::microseconds kAlert(100);

RankThreads::RankThreads(int count) {
  for (int i = 0; i < count && status.ok(); ++i) {
    auto thread = Thread::start([this, i] { serve(i); });
    status = thread.status();
    if (thread.ok())
      threads.push_back(*std::move(thread));
  }
}

RankThreads::~RankThreads() {
  wait();
  {
    absl::MutexLock lock(&mutex);
    stopping = true;
  }
  threads.clear(); // waits for them
}

void RankThreads::start(std::function<void(int)> newJob) {
  absl::MutexLock lock(&mutex);
  job = std::move(newJob);
  running = static_cast<int>(threads.size());
  generation.fetch_add(1, std::memory_order_release);
}

bool RankThreads::wait(absl::Duration timeout) {
  absl::MutexLock lock(&mutex);
  auto isDone = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return running == 0;
  };
  return mutex.AwaitWithTimeout(absl::Condition(&isDone), timeout);
}

bool RankThreads::isBusy() {
  absl::MutexLock lock(&mutex);
  return running > 0;
}

bool RankThreads::awaitJob(uint64_t seen) {
  auto isPosted = [&] {
    return generation.load(std::memory_order_acquire) != seen;
  };
  // A sleeper takes longer to wake than a decode step of a small model.
  auto end = std::chrono::steady_clock::now() + kAlert;
  while (!isPosted() && std::chrono::steady_clock::now() < end)
    sched_yield();
  if (isPosted())
    return true;
  absl::MutexLock lock(&mutex);
  auto hasWork = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return stopping || isPosted();
  };
  mutex.Await(absl::Condition(&hasWork));
  return !stopping;
}

void RankThreads::serve(int index) {
  for (uint64_t seen = 0; awaitJob(seen);) {
    ++seen;
    job(index);
    absl::MutexLock lock(&mutex);
    --running;
  }
}
