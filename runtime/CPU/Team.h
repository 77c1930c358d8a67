// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The threads that compute for one rank.
///
///     Team team(4, /*hasCores=*/true); // the rank's own thread is one of them
///     team.start();
///     team.run([&](int part, int parts) { ... });   // all parts, then returns
///
/// A run has one part per thread, but it does not wait for a thread that is
/// late: the others compute its part. A decode step has hundreds of runs, and a
/// thread often waits longer for a core than a run takes.
/// How work is split never changes a result: parts are whole rows, or whole
/// columns of a product.
///
/// oneDNN's own OpenMP threads are not used, because they wait for each other
/// in every product. The team cuts products into pieces, and oneDNN computes a
/// piece on the calling thread.

#ifndef TPRT_CPU_TEAM_H
#define TPRT_CPU_TEAM_H

#include "runtime/Core/Errors.h"
#include "runtime/Core/Futex.h"
#include "runtime/Core/Thread.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tprt {

class Team {
public:
  /// If `hasCores`, each computing thread of the process can have its own core.
  /// Then threads spin for a while before they sleep.
  Team(int threads, bool hasCores);
  ~Team();

  int size() const { return threads; }

  /// Starts the threads. Returns LimitReached if not all of them could be
  /// started. Called by the rank's own thread, which `run` is called from.
  absl::Status start();

  /// Calls body(part, parts) once for each of the `size()` parts, each on any
  /// thread of the team, and returns when all have returned.
  template <typename Body> void run(Body body) {
    if (threads == 1)
      return body(0, 1);
    auto call = [](void *data, int part, int parts) {
      (*static_cast<Body *>(data))(part, parts);
    };
    dispatch(call, &body);
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
  using Job = void (*)(void *data, int part, int parts);
  /// In a cache line of its own, as several threads try to claim it.
  struct alignas(64) Part {
    std::atomic<uint32_t> claimed{0}; ///< The number of the latest job.
  };

  void dispatch(Job newJob, void *newData);
  /// Computes the parts of a job that nobody has claimed, from `first` on.
  void work(int first, uint32_t number);
  void serve(int first);
  /// Waits for a job other than the one numbered `seen`; returns false if no
  /// more jobs will come.
  bool awaitJob(uint32_t seen);

  const int threads;
  const bool hasCores;
  const std::unique_ptr<Part[]> parts;
  /// Written before `current`. A thread reads them while a part that it has
  /// claimed keeps `dispatch` from returning.
  Job job = nullptr;
  void *data = nullptr;
  Futex current;                     ///< The number of the latest job.
  std::atomic<uint32_t> done{0};     ///< Parts, of all jobs so far.
  std::atomic<bool> isEnding{false}; ///< Written before `current`.
  std::vector<Thread> others;        ///< Last: they use all of the above.
};

} // namespace tprt

#endif // TPRT_CPU_TEAM_H
