// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The place where the threads of a group show each other their data, and
/// wait for each other.
///
///     Meeting meeting(domain, domain->join(occasion, {0, 2}), rank);
///     meeting.mine().call = call;
///     meeting.meet([&] { return describe(call); });  // all have shown theirs
///     ... meeting.at(peer).call ...
///     meeting.meet(..);                              // all have seen it
///
/// No thread waits longer than the domain's timeout, or after a rank has
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

/// One rank's place in a group. All fields except `phase` are written before
/// the phase is announced, and stay unchanged until all have seen them. `shown`
/// has two elements, so that the data of the last collective stays valid while
/// that of the next is written. A collective therefore needs no meeting at its
/// end, unless ranks still read each other's memory after it.
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
  /// Counted over all phases. No rank enters a phase before all have left the
  /// previous one, so the last rank to arrive in a phase can tell that it is
  /// the last.
  std::atomic<uint64_t> arrivals{0};
  Futex complete; ///< The last phase that all have reached.
  /// The result that the last rank to arrive at a collective computed for all.
  /// Like `shown`, it has one element for each of two successive collectives.
  std::vector<char> forAll[2];
};

/// One rank's view of a group.
class Meeting {
public:
  /// Returns the name of the occasion; called only if it is needed.
  using What = absl::FunctionRef<std::string()>;

  Meeting(std::shared_ptr<ThreadDomain> domain,
          std::shared_ptr<ThreadGroup> group, int rank);

  size_t size() const { return group->ranks.size(); }
  Slot &mine() { return group->slots[position]; }
  Slot &at(size_t peer) { return group->slots[peer]; }
  int getRank() const { return group->ranks[position]; }
  int getRank(size_t peer) const { return group->ranks[peer]; }

  /// An action of the last rank to arrive, before the others continue.
  using Last = absl::FunctionRef<void()>;
  static void doNothing() {}

  /// Announces the next phase and waits until all ranks have reached it.
  absl::Status meet(What what, Last doLast = doNothing);
  /// Shows a collective and waits until all have shown the same one. If
  /// `copies` is not 0, the others read a copy of that many bytes of the
  /// source. In that case, the last rank to arrive calls `doLast`.
  absl::Status meetAt(uint32_t index, const CollectiveCall &call,
                      int64_t copies = 0, Last doLast = doNothing);
  /// Returns what another rank has shown at the current collective.
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
  absl::Status awaitAll(What what);
  bool isComplete() const;
  bool hasArrived(size_t peer) const;
  absl::Status reportMissing() const;

  uint64_t phase = 0;
  uint64_t occasion = 0; ///< Collectives so far.
  int64_t waited = 0;
};

} // namespace tprt

#endif // TPRT_COMMUNICATORS_MEETING_H
