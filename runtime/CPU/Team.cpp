// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CPU/Team.h"

#include "runtime/Core/Cores.h"

// Declared here since clang has no omp.h for the OpenMP of oneDNN, GCC's. The
// name is OpenMP's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" void omp_set_num_threads(int);

using namespace tprt;

Team::Team(int threads, bool hasCores)
    : threads(threads), hasCores(hasCores), parts(new Part[threads]) {}

Team::~Team() {
  isEnding = true;
  current.set(current.get() + 1);
  others.clear(); // waits for the threads
}

absl::Status Team::start() {
  omp_set_num_threads(1); // in calls of oneDNN from this thread
  for (int i = 1; i < threads; ++i) {
    TPRT_ASSIGN_OR_RETURN(Thread thread, Thread::start([this, i] {
                            omp_set_num_threads(1);
                            serve(i);
                          }));
    others.push_back(std::move(thread));
  }
  return absl::OkStatus();
}

void Team::dispatch(Job newJob, void *newData) {
  job = newJob;
  data = newData;
  uint32_t number = current.get() + 1;
  current.set(number);
  work(0, number);
  uint32_t all = number * static_cast<uint32_t>(threads);
  for (int look = 1; done.load(std::memory_order_acquire) != all; ++look)
    if (look % kFastLooks == 0)
      sched_yield(); // maybe the other thread waits for this core
    else
      relax();
}

void Team::work(int first, uint32_t number) {
  for (int i = 0; i < threads; ++i) {
    int part = (first + i) % threads;
    // Fails if the part is claimed, and if the job ended long ago.
    uint32_t before = number - 1;
    if (!parts[part].claimed.compare_exchange_strong(before, number))
      continue;
    job(data, part, threads);
    done.fetch_add(1, std::memory_order_release);
  }
}

void Team::serve(int first) {
  for (uint32_t seen = 0; awaitJob(seen);) {
    seen = current.get();
    work(first, seen);
  }
}

bool Team::awaitJob(uint32_t seen) {
  auto isThere = [&] { return current.get() != seen || isEnding; };
  if (hasCores) {
    auto end = std::chrono::steady_clock::now() + kSpinTime;
    for (int look = 1; !isThere(); ++look) {
      if (look % kFastLooks != 0) {
        relax();
        continue;
      }
      if (std::chrono::steady_clock::now() >= end)
        break;
      sched_yield(); // maybe the rank's own thread waits for this core
    }
  } else {
    takeTurns(isThere);
  }
  while (!isThere())
    current.wait(seen, absl::InfiniteDuration());
  return !isEnding;
}
