// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/RankThreads.h"

#include "runtime/Core/Cores.h"

#include "absl/time/clock.h"

#include <chrono>
#include <sched.h>

using namespace tprt;

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
  stopping = true;
  generation.set(generation.get() + 1);
  threads.clear(); // waits for the threads
}

void RankThreads::start(std::function<void(int)> newJob) {
  job = std::move(newJob);
  running = static_cast<int>(threads.size());
  generation.set(generation.get() + 1);
}

bool RankThreads::wait(absl::Duration timeout) {
  takeTurns([this] { return !isBusy(); });
  absl::Time end = absl::Now() + timeout;
  while (true) {
    uint32_t seen = finished.get();
    if (!isBusy())
      return true;
    absl::Duration left = end - absl::Now();
    if (left <= absl::ZeroDuration())
      return false;
    finished.wait(seen, left);
  }
}

bool RankThreads::awaitJob(uint32_t seen) {
  // Waking a sleeping thread takes longer than a decode step of a small model.
  constexpr std::chrono::microseconds alert(100);
  if (spins)
    for (auto end = std::chrono::steady_clock::now() + alert;
         generation.get() == seen && std::chrono::steady_clock::now() < end;)
      sched_yield();
  else
    takeTurns([&] { return generation.get() != seen; });
  while (generation.get() == seen)
    generation.wait(seen, absl::InfiniteDuration());
  return !stopping;
}

void RankThreads::serve(int index) {
  for (uint32_t seen = 0; awaitJob(seen);) {
    ++seen;
    job(index);
    if (running.fetch_sub(1) == 1)
      finished.set(seen);
  }
}
