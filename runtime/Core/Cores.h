// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Which cores ranks compute on, and so how they wait for each other.
/// Where each rank has a core, a waiting rank spins for a while, since waking a
/// thread takes longer than most waits. Where ranks share cores, they sleep at
/// once: the core that one spins on is what its peer needs.

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
