// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The threads that compute for one rank.
///
///     Team team(4);                        // of the rank's own thread
///     team.run([&](int part, int parts) { ... });   // on all, then returns
///
/// They are those of GCC's OpenMP, which oneDNN computes with, too: one set of
/// threads serves matmuls and row programs, and none waits for work beside the
/// other. How work is split never changes a result: parts are whole rows, or
/// whole columns of a product.

#ifndef TPRT_CPU_TEAM_H
#define TPRT_CPU_TEAM_H

#include "runtime/Core/Errors.h"
#include "runtime/Core/Thread.h"

#include "absl/synchronization/mutex.h"

#include <algorithm>
#include <cstdint>
#include <utility>

// Of libgomp; clang has no omp.h for it. The names are the library's.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
void omp_set_num_threads(int);
int omp_get_num_threads();
int omp_get_thread_num();
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads,
                   unsigned flags);
}
// NOLINTEND(readability-identifier-naming)

namespace tprt {

class Team {
public:
  explicit Team(int threads) : threads(threads) {}

  int size() const { return threads; }

  /// Starts the threads, which are used again from then on. LimitReached if
  /// there cannot be so many: libgomp would end the process when it needs them.
  absl::Status start() const {
    // What is free for one rank is not free for two.
    static absl::Mutex mutex;
    absl::MutexLock lock(&mutex);
    TPRT_RETURN_IF_ERROR(checkThreads(threads - 1));
    run([](int, int) {});
    return absl::OkStatus();
  }

  /// Makes oneDNN, called from this thread, compute on the team.
  void enter() const { omp_set_num_threads(threads); }

  template <typename Body> void run(Body body) const {
    if (threads == 1)
      return body(0, 1);
    auto call = [](void *data) {
      (*static_cast<Body *>(data))(omp_get_thread_num(), omp_get_num_threads());
    };
    GOMP_parallel(call, &body, static_cast<unsigned>(threads), 0);
  }

  /// The `part`-th of `parts` even pieces of 0 .. `count`.
  static std::pair<int64_t, int64_t> split(int64_t count, int part, int parts) {
    // count * part / parts, of which the product could overflow.
    auto getBegin = [&](int64_t of) {
      return count / parts * of + count % parts * of / parts;
    };
    return {getBegin(part), getBegin(part + 1)};
  }

private:
  int threads;
};

} // namespace tprt

#endif // TPRT_CPU_TEAM_H
