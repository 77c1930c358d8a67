// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Where the threads of a group show each other what they have, and wait
/// for each other.
///
///     Meeting meeting(domain, domain->join(occasion, {0, 2}), rank);
///     meeting.mine().call = call;
///     meeting.meet([&] { return describe(call); });  // all have shown theirs
///     ... meeting.at(peer).call ...
///     meeting.meet(..);                              // all have seen it
///
/// Nobody waits longer than the domain's timeout, or on after a rank has
/// failed.

#ifndef TPRT_COMMUNICATORS_MEETING_H
#define TPRT_COMMUNICATORS_MEETING_H

#include "runtime/Communicators/ThreadWorld.h"
#include "runtime/Core/Futex.h"

#include "absl/functional/function_ref.h"

namespace tprt {

/// What one rank shows the others at one collective. These are values, as a
/// rank that fails leaves while others still look.
struct Shown {
  uint32_t index = 0; ///< Of the collective.
  CollectiveCall call;
  std::string copy; ///< Of a small source.
};

/// One rank's place in a group. The fields beside `phase` are written before
/// the phase is announced and stay until all have seen them. Of what is shown
/// at collectives, that of the last one stays while the next is written: so a
/// collective that nobody reads any memory after needs no meeting at its end.
struct alignas(64) Slot {
  std::atomic<uint64_t> phase{0};
  Shown shown[2];
  std::string bytes;    ///< Of an exchange.
  void *events[3] = {}; ///< Of a GPU's, see VirtualLinks.
};

struct ThreadGroup {
  explicit ThreadGroup(std::vector<int> ranks)
      : ranks(std::move(ranks)), slots(new Slot[this->ranks.size()]) {}

  const std::vector<int> ranks; ///< By position.
  const std::unique_ptr<Slot[]> slots;
  /// Of all phases so far. Nobody enters a phase before all have left the one
  /// before it, so the last of a phase knows that it is.
  std::atomic<uint64_t> arrivals{0};
  Futex complete; ///< The phase that all have come to.
  /// What the last to come to a collective made for all, by occasion as what is
  /// shown.
  std::vector<char> forAll[2];
};

/// One rank's end of a group.
class Meeting {
public:
  /// Makes the name of the occasion, if it is needed.
  using What = absl::FunctionRef<std::string()>;

  Meeting(std::shared_ptr<ThreadDomain> domain,
          std::shared_ptr<ThreadGroup> group, int rank);

  size_t size() const { return group->ranks.size(); }
  Slot &mine() { return group->slots[position]; }
  Slot &at(size_t peer) { return group->slots[peer]; }
  int getRank() const { return group->ranks[position]; }
  int getRank(size_t peer) const { return group->ranks[peer]; }

  /// What the last to come does before the others go on.
  using Last = absl::FunctionRef<void()>;
  static void doNothing() {}

  /// Announces the next phase and waits until all have.
  absl::Status meet(What what, Last doLast = doNothing);
  /// Shows a collective and waits until all have shown the same one. With
  /// `copies`, a copy of the source's first bytes is what the others read. If
  /// it is the same one, the last to come does something for all.
  absl::Status meetAt(uint32_t index, const CollectiveCall &call,
                      int64_t copies = 0, Last doLast = doNothing);
  /// What another rank has shown there.
  const Shown &shown(size_t peer) const {
    return group->slots[peer].shown[occasion & 1];
  }
  /// What the last to come there has made for all.
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
