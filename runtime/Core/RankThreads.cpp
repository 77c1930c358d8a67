// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/RankThreads.h"

using namespace tprt;

RankThreads::RankThreads(int count) {
  for (int i = 0; i < count; ++i)
    threads.emplace_back([this, i] { serve(i); });
}

RankThreads::~RankThreads() {
  wait();
  {
    absl::MutexLock lock(&mutex);
    stopping = true;
  }
  for (std::thread &thread : threads)
    thread.join();
}

void RankThreads::start(std::function<void(int)> newJob) {
  absl::MutexLock lock(&mutex);
  job = std::move(newJob);
  running = static_cast<int>(threads.size());
  ++generation;
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

void RankThreads::serve(int index) {
  uint64_t seen = 0;
  while (true) {
    std::function<void(int)> mine;
    {
      absl::MutexLock lock(&mutex);
      auto hasWork = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
        return stopping || generation != seen;
      };
      mutex.Await(absl::Condition(&hasWork));
      if (stopping)
        return;
      seen = generation;
      mine = job;
    }
    mine(index);
    absl::MutexLock lock(&mutex);
    --running;
  }
}
