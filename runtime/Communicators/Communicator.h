// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How ranks talk to each other, whatever the transport.
///
/// A `World` represents one rank among all ranks. `split` makes a
/// `Communicator` for a group of ranks. As every rank runs the same artifact,
/// all ranks make the communicators of its table in the same order at load. So
/// nothing is negotiated later, and creating communicators cannot deadlock. A
/// collective is started and, after other work, finished:
///
///     group->start(3, {&row, permutation, source, destination, "mlp.out"});
///     ...
///     group->finish(3);
///
/// All communicators give the same bits: reductions combine values in order of
/// position, see Reduce.h. Chunks are contiguous, see CollectiveRow.
///
/// Failure: no call waits longer than the timeout. A rank that fails tells the
/// others through `World::fail`; they stop waiting and report PeerFailed with
/// the first cause. If the ranks of a group start different collectives, the
/// error is CollectiveMismatch. If a rank starts none, the error of the others
/// is CollectiveTimeout.

#ifndef TPRT_COMMUNICATORS_COMMUNICATOR_H
#define TPRT_COMMUNICATORS_COMMUNICATOR_H

#include "runtime/Core/ArtifactFormat.h"
#include "runtime/Core/Cores.h"
#include "runtime/Core/Errors.h"

#include "absl/time/time.h"
#include "absl/types/span.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace tprt {

struct CollectiveCall {
  const CollectiveRow *row = nullptr; ///< In the artifact, which outlives this.
  absl::Span<const int64_t> permutation;
  const char *source;
  char *destination;
  absl::string_view name; ///< The step's name, for messages.
  /// When this rank has started it and the rank's link is free, in nanoseconds
  /// of the host's monotonic clock. Only set if a link is emulated.
  int64_t started = 0;
};

/// Returns the collective's kind and name, for example `all_reduce 'mlp.out'`.
std::string describe(const CollectiveCall &call);

/// Copies bytes. The address of an empty tensor may be null.
inline void copyBytes(char *to, const char *from, int64_t bytes) {
  if (bytes > 0)
    std::memcpy(to, from, bytes);
}

class Communicator {
public:
  virtual ~Communicator() = default;

  /// Begins a collective. `index` is its row and identifies it among those
  /// under way. Source and destination must not be touched until it is
  /// finished.
  virtual absl::Status start(uint32_t index, const CollectiveCall &call) = 0;

  /// Waits until the destination holds the result and the source may be
  /// written.
  virtual absl::Status finish(uint32_t index) = 0;

  /// Returns how many nanoseconds this rank has waited for other ranks in
  /// collectives of this communicator; 0 if the transport cannot tell.
  virtual int64_t getWaited() const { return 0; }

  /// Of the collective that was finished last: the latest `started` of all
  /// ranks. Returns 0 if the transport cannot tell.
  virtual int64_t getLastStart() const { return 0; }
};

class ThreadDomain;

class World {
public:
  virtual ~World() = default;

  virtual int getRank() const = 0;
  virtual int getSize() const = 0;
  /// Returns this rank's share of the cores that the ranks of this host may
  /// use; 0 if there are more ranks than cores.
  virtual int getCoresPerRank() const { return countUsableCores(); }

  /// Connects this rank with the other ranks. All ranks must call this before
  /// any function below. The creation of a world has no deadline of its own.
  virtual absl::Status connect() { return absl::OkStatus(); }

  /// Returns the communicator of a group that contains this rank, in order of
  /// position. All ranks of the world call this the same number of times, each
  /// with its own group.
  virtual absl::StatusOr<std::unique_ptr<Communicator>>
  split(const std::vector<int> &group) = 0;

  /// Returns the bytes that each rank passes, indexed by rank. This is used to
  /// agree on programs and to collect outputs. All ranks call it; `what` names
  /// the occasion in messages.
  virtual absl::StatusOr<std::vector<std::string>>
  exchange(absl::string_view mine, absl::string_view what) = 0;

  /// Called before each run with a digest of everything that the run depends
  /// on. If a message shows that a peer has another digest, the collective
  /// fails with RanksDisagree.
  virtual void setRunDigest(uint32_t digest) {}

  /// Tells the others that this rank is alive although it is late: their
  /// deadlines begin anew.
  virtual void showLife() {}

  /// Waits until all ranks have called this, so that they leave together.
  virtual absl::Status part() { return absl::OkStatus(); }
  /// Leaves the job. Not called after a failure. Like the function that creates
  /// a world, this function has no deadline of its own.
  virtual absl::Status finalize() { return absl::OkStatus(); }

  /// Returns a Transport error unless several threads may use this world at the
  /// same time: each with communicators of its own, and all of them `check` and
  /// `fail`.
  virtual absl::Status allowThreads() { return absl::OkStatus(); }
  /// Called once by each thread that uses this world from then on, after
  /// `allowThreads`. Any thread may call `fail`.
  virtual void enter() {}

  /// Returns the state that the ranks share if all are threads of this process;
  /// else null.
  virtual std::shared_ptr<ThreadDomain> getThreads() const { return nullptr; }

  /// Ends the work of all ranks because of the error `cause`. Calls after the
  /// first have no effect.
  virtual void fail(const absl::Status &cause) = 0;

  /// Returns an error once any rank has failed. Cheap: called between steps.
  virtual absl::Status check() = 0;

  /// After a failure, waits up to two seconds until all ranks have called this.
  /// When one process ends, the launcher ends the others, so each must report
  /// its error first.
  virtual void depart() {}

  /// Tells the world that other threads of this rank wait in it, on the core of
  /// the rank's own thread. They may keep the core busy only while `*isIdle`.
  /// Null once there are no other threads any more.
  void shareCore(const std::atomic<bool> *isIdle) { ownIsIdle = isIdle; }
  /// Returns true if a thread that waits for other ranks may keep its core
  /// busy, because no other thread needs the core.
  bool maySpin() const {
    return getCoresPerRank() > 0 &&
           (!ownIsIdle || ownIsIdle->load(std::memory_order_relaxed));
  }

private:
  const std::atomic<bool> *ownIsIdle = nullptr;
};

} // namespace tprt

#endif // TPRT_COMMUNICATORS_COMMUNICATOR_H
