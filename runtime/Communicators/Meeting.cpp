// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Communicators/Meeting.h"

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <chrono>
#include <sched.h>

using namespace tprt;

/// Tells the core that this is a waiting loop.
static void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

Meeting::Meeting(std::shared_ptr<ThreadDomain> domain,
                 std::shared_ptr<ThreadGroup> group, int rank)
    : domain(std::move(domain)), group(std::move(group)) {
  const std::vector<int> &ranks = this->group->ranks;
  position = std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
}

absl::Status Meeting::meet(What what) {
  ++phase;
  mine().phase.store(phase, std::memory_order_release);
  auto begin = std::chrono::steady_clock::now();
  absl::Status status = awaitAll(what);
  waited += (std::chrono::steady_clock::now() - begin).count();
  return status;
}

absl::Status Meeting::meetAt(uint32_t index, const CollectiveCall &call) {
  auto what = [&] { return describe(call); };
  mine().index = index;
  mine().call = call;
  TPRT_RETURN_IF_ERROR(meet(what));
  for (size_t peer = 0; peer < size(); ++peer)
    if (at(peer).index != index)
      return makeError(ErrorCode::CollectiveMismatch, getContext(what()),
                       ": rank ", getRank(peer), " is at ",
                       describe(at(peer).call));
  return absl::OkStatus();
}

std::string Meeting::getContext(absl::string_view what) const {
  return absl::StrCat("rank ", getRank(), ", ", what);
}

absl::Status Meeting::awaitAll(What what) {
  absl::Time deadline = absl::InfinitePast(); // set at the first slow wait
  for (size_t peer = 0; peer < size(); ++peer)
    for (int round = 0; !hasArrived(peer); ++round) {
      if (domain->hasFailed())
        return addContext(domain->getFailure(), getContext(what()));
      if (round < 200) {
        relax();
        continue;
      }
      sched_yield();
      if (round % 64 != 0)
        continue;
      absl::Time now = absl::Now();
      if (deadline == absl::InfinitePast())
        deadline = now + domain->getTimeout();
      if (now > deadline)
        return addContext(reportMissing(), getContext(what()));
    }
  return absl::OkStatus();
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
