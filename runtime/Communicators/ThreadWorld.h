// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Ranks that are threads of one process: they read each other's memory.
///
///     auto domain = std::make_shared<ThreadDomain>(4, absl::Seconds(300));
///     // on thread r:
///     std::unique_ptr<World> world = makeThreadWorld(domain, r);
///
/// In an all-reduce of n ranks, each rank publishes its pointers, waits,
/// reduces one n-th of everybody's elements in rank order, waits, copies the
/// others' parts, and waits. Every element crosses memory about as often as in
/// a ring, without the ring's latency. For how ranks wait for each other, see
/// Cores.h.

#ifndef TPRT_COMMUNICATORS_THREADWORLD_H
#define TPRT_COMMUNICATORS_THREADWORLD_H

#include "runtime/Communicators/Communicator.h"
#include "runtime/Core/Cores.h"

#include "absl/container/flat_hash_map.h"

#include <atomic>
#include <mutex>

namespace tprt {

struct ThreadGroup;

/// The state that the ranks of one process share.
class ThreadDomain {
public:
  ThreadDomain(int ranks, absl::Duration timeout)
      : ranks(ranks), timeout(timeout), cores(countUsableCores()) {}

  int getSize() const { return ranks; }
  absl::Duration getTimeout() const { return timeout; }
  int getCoresPerRank() const { return cores / ranks; }
  bool hasCores() const { return cores >= ranks; }

  /// Ends the work of all ranks. The first cause is kept.
  void fail(const absl::Status &cause);
  bool hasFailed() const { return failed.load(std::memory_order_relaxed); }
  /// Returns the error that ended the run. If a rank failed, this is PeerFailed
  /// with the text of the first rank's error. If the run was aborted or took
  /// too long, it is that error itself.
  absl::Status getFailure();

  /// Returns the group that these ranks form in split number `occasion`. The
  /// first call creates the group. All ranks of the group must pass the same
  /// number.
  std::shared_ptr<ThreadGroup> join(int occasion,
                                    const std::vector<int> &group);

private:
  const int ranks;
  const absl::Duration timeout;
  const int cores;
  std::atomic<bool> failed{false};
  /// A std::mutex rather than absl's: the thread sanitizer understands it even
  /// where absl was built without the sanitizer.
  std::mutex mutex; ///< Guards the following members.
  absl::Status cause;
  absl::flat_hash_map<std::pair<int, std::vector<int>>,
                      std::shared_ptr<ThreadGroup>>
      groups;
};

std::unique_ptr<World> makeThreadWorld(std::shared_ptr<ThreadDomain> domain,
                                       int rank);

} // namespace tprt

#endif // TPRT_COMMUNICATORS_THREADWORLD_H
