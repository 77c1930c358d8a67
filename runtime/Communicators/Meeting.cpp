// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Communicators/Meeting.h"

#include "runtime/Core/Cores.h"

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <chrono>
#include <sched.h>

using namespace tprt;

Meeting::Meeting(std::shared_ptr<ThreadDomain> domain,
                 std::shared_ptr<ThreadGroup> group, int rank,
                 const World *world)
    : domain(std::move(domain)), group(std::move(group)), world(world) {
  const std::vector<int> &ranks = this->group->ranks;
  position = std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
}

absl::Status Meeting::meet(What what, Last doLast) {
  ++phase;
  mine().phase.store(phase, std::memory_order_release);
  if (group->arrivals.fetch_add(1, std::memory_order_acq_rel) + 1 ==
      phase * size()) {
    doLast();
    group->complete.set(static_cast<uint32_t>(phase));
  }
  auto begin = std::chrono::steady_clock::now();
  absl::Status status = awaitAll(what);
  waited += (std::chrono::steady_clock::now() - begin).count();
  return status;
}

absl::Status Meeting::meetAt(uint32_t index, const CollectiveCall &call,
                             int64_t copies, Last doLast) {
  auto what = [&] { return describe(call); };
  Shown &ours = mine().shown[++occasion & 1];
  ours.index = index;
  ours.call = call;
  if (copies > 0) {
    ours.copy.assign(call.source, copies);
    ours.call.source = ours.copy.data();
  }
  auto isSame = [&](size_t peer) { return shown(peer).index == index; };
  TPRT_RETURN_IF_ERROR(meet(what, [&] {
    size_t peer = 0;
    while (peer < size() && isSame(peer))
      ++peer;
    if (peer == size())
      doLast();
  }));
  for (size_t peer = 0; peer < size(); ++peer)
    if (!isSame(peer))
      return makeError(ErrorCode::CollectiveMismatch, getContext(what()),
                       ": rank ", getRank(peer), " is at ",
                       describe(shown(peer).call));
  return absl::OkStatus();
}

std::string Meeting::getContext(absl::string_view what) const {
  return absl::StrCat("rank ", getRank(), ", ", what);
}

absl::Status Meeting::awaitAll(What what) {
  using Clock = std::chrono::steady_clock;
  // The waits are short because a failed rank does not wake the others.
  constexpr absl::Duration nap = absl::Milliseconds(20);
  Clock::time_point begin; // set at the first slow round
  absl::Time deadline;
  if (!domain->hasCores())
    takeTurns([this] { return isComplete(); });
  for (int round = 0; !isComplete(); ++round) {
    if (domain->hasFailed())
      return addContext(domain->getFailure(), getContext(what()));
    if (round < kFastLooks && maySpin()) {
      relax();
      continue;
    }
    if (begin == Clock::time_point()) {
      begin = Clock::now();
      deadline = absl::Now() + domain->getTimeout();
    }
    if (maySpin() && Clock::now() - begin < kSpinTime) {
      sched_yield();
      continue;
    }
    uint32_t seen = group->complete.get();
    if (isComplete())
      break;
    if (absl::Now() > deadline)
      return addContext(reportMissing(), getContext(what()));
    group->complete.wait(seen, nap);
  }
  return absl::OkStatus();
}

/// Compares phases modulo 2^32, because a futex holds only 32 bits.
bool Meeting::isComplete() const {
  return static_cast<int32_t>(group->complete.get() -
                              static_cast<uint32_t>(phase)) >= 0;
}

bool Meeting::hasArrived(size_t peer) const {
  return group->slots[peer].phase.load(std::memory_order_acquire) >= phase;
}

absl::Status Meeting::reportMissing() const {
  std::vector<int> missing;
  for (size_t peer = 0; peer < size(); ++peer)
    if (!hasArrived(peer))
      missing.push_back(group->ranks[peer]);
  return makeError(ErrorCode::CollectiveTimeout, "rank ",
                   absl::StrJoin(missing, ", "), " did not arrive within ",
                   absl::FormatDuration(domain->getTimeout()),
                   "; a longer --timeout helps if it is only slow");
}
