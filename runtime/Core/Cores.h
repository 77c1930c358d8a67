// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Which cores ranks compute on, and so how they wait for each other.
/// Where each rank has a core, a waiting rank spins for a while, since waking a
/// thread takes longer than most waits. Where ranks share cores, a waiting rank
/// lets the others run: the core that one spins on is what its peer needs.

#ifndef TPRT_CORE_CORES_H
#define TPRT_CORE_CORES_H

#include <chrono>
#include <sched.h>

namespace tprt {

/// How long a rank that has a core of its own spins before it sleeps.
inline constexpr std::chrono::microseconds kSpinTime(1000);

/// How often it looks again at once, before it gives way to other threads.
inline constexpr int kFastLooks = 200;

/// Tells the core that this is a waiting loop.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Gives way to other threads a few times, until `isDone`. This is what a rank
/// that shares its core does before it sleeps: mostly its peers are these
/// threads, and with them done it goes on without the system calls that put it
/// to sleep and wake it. With nobody else to run, it takes ten microseconds.
template <typename IsDone> void takeTurns(IsDone isDone) {
  constexpr int most = 16;
  for (int turn = 0; turn < most && !isDone(); ++turn)
    sched_yield();
}

/// The cores that this process may use.
inline cpu_set_t getUsableCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // More than 1024 cores do not fit: then one is all we know of.
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0)
    CPU_SET(0, &cores);
  return cores;
}

inline int countUsableCores() {
  cpu_set_t cores = getUsableCores();
  return CPU_COUNT(&cores);
}

} // namespace tprt

#endif // TPRT_CORE_CORES_H
