// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How ranks talk to each other, whatever carries it.
///
/// A `World` is one rank's place among all of them. `split` makes a
/// `Communicator` for a group of ranks; as every rank runs the same artifact,
/// it makes the communicators of its table in the same order at load, so
/// nothing is negotiated later and nothing can deadlock on it. A collective is
/// started and, after other work, finished:
///
///     group->start(3, {&row, permutation, source, destination, "mlp.out"});
///     ...
///     group->finish(3);
///
/// Semantics (both transports give the same bits): chunks are contiguous, see
/// CollectiveKind; reductions go in order of position, see Reduce.h.
///
/// Failure: no call waits longer than the timeout. Whoever fails tells the
/// others through `World::fail`; they stop waiting and report PeerFailed with
/// the first cause. A rank that stands at another collective of the group is
/// CollectiveMismatch, one that does not come at all CollectiveTimeout.

#ifndef TPRT_COMMUNICATORS_COMMUNICATOR_H
#define TPRT_COMMUNICATORS_COMMUNICATOR_H

#include "runtime/Core/ArtifactFormat.h"
#include "runtime/Core/Cores.h"
#include "runtime/Core/Errors.h"

#include "absl/time/time.h"
#include "absl/types/span.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace tprt {

struct CollectiveCall {
  const CollectiveRow *row = nullptr; ///< Of the artifact, which outlives it.
  absl::Span<const int64_t> permutation;
  const char *source;
  char *destination;
  absl::string_view name; ///< Of the step; for messages.
};

/// `all_reduce 'mlp.out'`.
std::string describe(const CollectiveCall &call);

/// An empty tensor may have no address.
inline void copyBytes(char *to, const char *from, int64_t bytes) {
  if (bytes > 0)
    std::memcpy(to, from, bytes);
}

class Communicator {
public:
  virtual ~Communicator() = default;

  /// Begins a collective; `index` is its row and names it among those under
  /// way. Source and destination belong to it until it is finished.
  virtual absl::Status start(uint32_t index, const CollectiveCall &call) = 0;

  /// Waits until the destination holds the result and the source is free.
  virtual absl::Status finish(uint32_t index) = 0;

  /// Nanoseconds that this rank has waited for others, of the time it spent
  /// here; 0 where the transport cannot tell.
  virtual int64_t getWaited() const { return 0; }
};

class ThreadDomain;

class World {
public:
  virtual ~World() = default;

  virtual int getRank() const = 0;
  virtual int getSize() const = 0;
  /// Its share of the cores that the ranks of this host may use; 0 where there
  /// are more ranks than cores.
  virtual int getCoresPerRank() const { return countUsableCores(); }

  /// Meets the other ranks; all call it, before anything below. What is done
  /// before, when the world is made, knows no deadline of its own.
  virtual absl::Status connect() { return absl::OkStatus(); }

  /// The communicator of a group, this rank among it, in order of position. All
  /// ranks of the world call this equally often, each with its own group.
  virtual absl::StatusOr<std::unique_ptr<Communicator>>
  split(const std::vector<int> &group) = 0;

  /// Everyone's bytes, by rank: agreeing on programs, collecting outputs. All
  /// ranks call it; `what` names the occasion in messages.
  virtual absl::StatusOr<std::vector<std::string>>
  exchange(absl::string_view mine, absl::string_view what) = 0;

  /// Before each run: a digest of what the run depends on. Where a message
  /// tells that a peer has another, the collective is RanksDisagree.
  virtual void setRunDigest(uint32_t digest) {}

  /// Tells the others that this rank is alive though it does not come: their
  /// deadlines begin anew.
  virtual void showLife() {}

  /// Waits until all ranks have called it, before they leave in good order.
  virtual absl::Status part() { return absl::OkStatus(); }
  /// Leaves, if nothing has failed. Like making the world, it knows no deadline
  /// of its own.
  virtual absl::Status finalize() { return absl::OkStatus(); }

  /// Whether threads may take turns at using this world; else Transport.
  virtual absl::Status allowThreads() { return absl::OkStatus(); }
  /// The calling thread uses the world from now on, and the one before it no
  /// longer does. Others may still call `fail`.
  virtual void enter() {}

  /// What the ranks share if all are threads of this process; else null.
  virtual std::shared_ptr<ThreadDomain> getThreads() const { return nullptr; }

  /// Ends the work of all ranks because of this one's error. Idempotent.
  virtual void fail(const absl::Status &cause) = 0;

  /// An error once any rank has failed. Cheap: called between steps.
  virtual absl::Status check() = 0;

  /// After a failure: waits until all ranks have come here, two seconds at
  /// most. A process that is gone takes the others with it, so each first says
  /// what it has to say.
  virtual void depart() {}
};

} // namespace tprt

#endif // TPRT_COMMUNICATORS_COMMUNICATOR_H
