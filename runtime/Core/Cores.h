// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How ranks wait for each other, which depends on the cores they compute
/// on. If each rank has a core, a waiting rank spins for a while, since waking
/// a thread takes longer than most waits. If ranks share cores, a waiting rank
/// lets the others run: by spinning it would occupy the core that its peer
/// needs.

#ifndef TPRT_CORE_CORES_H
#define TPRT_CORE_CORES_H

#include <chrono>
#include <sched.h>

namespace tprt {

/// How long a rank that has its own core spins before it sleeps.
inline constexpr std::chrono::microseconds kSpinTime(1000);

/// How many times in a row a waiting rank checks before it yields to other
/// threads.
inline constexpr int kFastLooks = 200;

/// Tells the CPU that this is a waiting loop.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Yields to other threads a few times, until `isDone`. A rank that shares its
/// core does this before it sleeps. The other threads are usually its peers.
/// When they are done, this rank continues without the system calls that would
/// put it to sleep and wake it. If no other thread can run, this takes ten
/// microseconds.
template <typename IsDone> void takeTurns(IsDone isDone) {
  constexpr int most = 16;
  for (int turn = 0; turn < most && !isDone(); ++turn)
    sched_yield();
}

/// Returns the cores that this process may use.
inline cpu_set_t getUsableCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // The call fails if the machine has more than 1024 cores. One core is assumed
  // then.
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
