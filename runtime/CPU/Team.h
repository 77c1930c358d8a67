// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The threads that compute for one rank.
///
///     Team team(4);     // the rank's own thread is one of the four
///     team.run([&](int part, int parts) { ... });   // on all, then returns
///
/// They are GCC's OpenMP threads, which oneDNN also uses: a single pool serves
/// matmuls and row programs, so that there is no second pool that idles or
/// spins. How work is split never changes a result: parts are whole rows, or
/// whole columns of a product.

#ifndef TPRT_CPU_TEAM_H
#define TPRT_CPU_TEAM_H

#include "runtime/Core/Errors.h"
#include "runtime/Core/Thread.h"

#include "absl/synchronization/mutex.h"

#include <algorithm>
#include <cstdint>
#include <utility>

// Declared here since clang has no omp.h for libgomp. The names are libgomp's.
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

  /// Starts the threads, which later calls use again. Returns LimitReached if
  /// this many threads cannot be started: otherwise libgomp would end the
  /// process later, when it needs them.
  absl::Status start() const {
    // Only one rank at a time checks and starts threads: the threads that are
    // still available may suffice for one rank but not for two.
    static absl::Mutex mutex;
    absl::MutexLock lock(&mutex);
    TPRT_RETURN_IF_ERROR(checkThreads(threads - 1));
    run([](int, int) {});
    return absl::OkStatus();
  }

  /// Makes oneDNN use the team in calls from this thread.
  void enter() const { omp_set_num_threads(threads); }

  template <typename Body> void run(Body body) const {
    if (threads == 1)
      return body(0, 1);
    auto call = [](void *data) {
      (*static_cast<Body *>(data))(omp_get_thread_num(), omp_get_num_threads());
    };
    GOMP_parallel(call, &body, static_cast<unsigned>(threads), 0);
  }

  /// Returns the bounds of part number `part` when 0 .. `count` is split into
  /// `parts` even pieces.
  static std::pair<int64_t, int64_t> split(int64_t count, int part, int parts) {
    // count * part / parts, computed so that the product cannot overflow.
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
