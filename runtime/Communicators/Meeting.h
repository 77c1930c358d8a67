// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A barrier for the ranks of a group that are threads of one process.
/// Each rank has a slot, in which it shows data to the others.
///
///     Meeting meeting(domain, domain->join(occasion, {0, 2}), rank);
///     meeting.mine().call = call;
///     meeting.meet([&] { return describe(call); });  // all slots are written
///     ... meeting.at(peer).call ...
///     meeting.meet(..);                              // all slots are read
///
/// A wait ends with an error after the domain's timeout, or once a rank has
/// failed.

#ifndef TPRT_COMMUNICATORS_MEETING_H
#define TPRT_COMMUNICATORS_MEETING_H

#include "runtime/Communicators/ThreadWorld.h"
#include "runtime/Core/Futex.h"

#include "absl/functional/function_ref.h"

namespace tprt {

/// The data that one rank shows the others at one collective. It is a copy,
/// since a rank that fails may leave while others still read.
struct Shown {
  uint32_t index = 0; ///< The collective's row.
  CollectiveCall call;
  std::string copy; ///< The contents of a small source.
};

/// The slot through which one rank shows data to the other ranks of a group.
/// The rank announces a phase in `phase` after it has written all other fields.
/// These stay unchanged until all ranks have read them. Successive collectives
/// use the two elements of `shown` in turn: the data of one collective stays
/// valid while the data of the next is written. So a collective needs no
/// barrier at its end, unless ranks still read each other's memory.
struct alignas(64) Slot {
  std::atomic<uint64_t> phase{0};
  Shown shown[2];
  std::string bytes;    ///< What an exchange sends.
  void *events[3] = {}; ///< A GPU's events, see VirtualLinks.
};

struct ThreadGroup {
  explicit ThreadGroup(std::vector<int> ranks)
      : ranks(std::move(ranks)), slots(new Slot[this->ranks.size()]) {}

  const std::vector<int> ranks; ///< Indexed by position.
  const std::unique_ptr<Slot[]> slots;
  /// The number of arrivals in all phases so far. No rank arrives in a phase
  /// before all ranks have arrived in the previous phase. So the rank that
  /// raises this to a multiple of the number of ranks is the last to arrive in
  /// its phase.
  std::atomic<uint64_t> arrivals{0};
  Futex complete; ///< The last phase that all have reached.
  /// The result that the last rank to arrive at a collective computed for all
  /// ranks. Successive collectives use the two elements in turn.
  std::vector<char> forAll[2];
};

/// One rank's view of a group.
class Meeting {
public:
  /// Returns what the ranks are doing, as text for an error message. Called
  /// only if there is an error.
  using What = absl::FunctionRef<std::string()>;

  /// `world` is the rank's, and says whether waits may spin. If it is null,
  /// they may if there is a core for each rank.
  Meeting(std::shared_ptr<ThreadDomain> domain,
          std::shared_ptr<ThreadGroup> group, int rank,
          const World *world = nullptr);

  size_t size() const { return group->ranks.size(); }
  Slot &mine() { return group->slots[position]; }
  Slot &at(size_t peer) { return group->slots[peer]; }
  int getRank() const { return group->ranks[position]; }
  int getRank(size_t peer) const { return group->ranks[peer]; }

  /// A function that the last rank to arrive calls before any rank continues.
  using Last = absl::FunctionRef<void()>;
  static void doNothing() {}

  /// Announces the next phase and waits until all ranks have reached it.
  absl::Status meet(What what, Last doLast = doNothing);
  /// Shows this rank's collective to the others and waits until all ranks have
  /// shown theirs. Fails unless all show the same collective; if they do, the
  /// last rank to arrive calls `doLast`. If `copies` is not 0, the others read
  /// a copy of the first `copies` bytes of the source.
  absl::Status meetAt(uint32_t index, const CollectiveCall &call,
                      int64_t copies = 0, Last doLast = doNothing);
  /// Returns the data that the rank at position `peer` shows for the current
  /// collective.
  const Shown &shown(size_t peer) const {
    return group->slots[peer].shown[occasion & 1];
  }
  /// Returns the result that the last rank to arrive at the current collective
  /// computed for all.
  std::vector<char> &getForAll() { return group->forAll[occasion & 1]; }

  /// Nanoseconds spent in `meet`.
  int64_t getWaited() const { return waited; }

  std::string getContext(absl::string_view what) const;

  const std::shared_ptr<ThreadDomain> domain;
  const std::shared_ptr<ThreadGroup> group;
  size_t position;

private:
  const World *const world;

  absl::Status awaitAll(What what);
  bool maySpin() const { return world ? world->maySpin() : domain->hasCores(); }
  bool isComplete() const;
  bool hasArrived(size_t peer) const;
  absl::Status reportMissing() const;

  uint64_t phase = 0;
  uint64_t occasion = 0; ///< Collectives so far.
  int64_t waited = 0;
};

} // namespace tprt

#endif // TPRT_COMMUNICATORS_MEETING_H
