// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Communicators/ThreadWorld.h"

#include "runtime/Communicators/Reduce.h"

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

namespace {

/// What one rank shows the others of its group. The fields beside `phase` are
/// written before the phase is announced and stay until all have seen them;
/// they are values, as a rank that fails leaves while others still look.
struct alignas(64) Slot {
  std::atomic<uint64_t> phase{0};
  uint32_t index = 0; ///< Of the collective.
  CollectiveCall call;
  std::string bytes; ///< Of an exchange.
};

} // namespace

struct tprt::ThreadGroup {
  explicit ThreadGroup(std::vector<int> ranks)
      : ranks(std::move(ranks)), slots(new Slot[this->ranks.size()]) {}

  const std::vector<int> ranks; ///< By position.
  const std::unique_ptr<Slot[]> slots;
};

std::string tprt::describe(const CollectiveCall &call) {
  constexpr absl::string_view names[kNumCollectives] = {
      "all_reduce", "all_gather", "reduce_scatter", "all_to_all",
      "collective_permute"};
  return absl::StrCat(names[static_cast<uint32_t>(call.row->kind)], " '",
                      call.name, "'");
}

void ThreadDomain::fail(const absl::Status &status) {
  std::lock_guard<std::mutex> lock(mutex);
  if (cause.ok())
    cause = status;
  failed.store(true, std::memory_order_relaxed);
}

absl::Status ThreadDomain::getFailure() {
  std::lock_guard<std::mutex> lock(mutex);
  if (cause.ok() || getErrorCode(cause) == ErrorCode::Aborted)
    return cause;
  return makeError(ErrorCode::PeerFailed,
                   "another rank failed: ", cause.message());
}

std::shared_ptr<ThreadGroup> ThreadDomain::join(int occasion,
                                                const std::vector<int> &group) {
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<ThreadGroup> &place = groups[{occasion, group}];
  if (!place)
    place = std::make_shared<ThreadGroup>(group);
  return place;
}

namespace {

/// One rank's end of a group: announcing phases and waiting for the others.
class Member {
public:
  Member(std::shared_ptr<ThreadDomain> domain,
         std::shared_ptr<ThreadGroup> group, int rank)
      : domain(std::move(domain)), group(std::move(group)) {
    const std::vector<int> &ranks = this->group->ranks;
    position = std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
  }

  size_t size() const { return group->ranks.size(); }
  Slot &mine() { return group->slots[position]; }
  Slot &at(size_t peer) { return group->slots[peer]; }
  int getRank() const { return group->ranks[position]; }
  int getRank(size_t peer) const { return group->ranks[peer]; }

  /// Announces the next phase and waits until all have. `what` makes the name
  /// of the occasion, if it is needed.
  template <typename What> absl::Status meet(What what) {
    ++phase;
    mine().phase.store(phase, std::memory_order_release);
    auto begin = std::chrono::steady_clock::now();
    absl::Status status = awaitAll(what);
    waited += (std::chrono::steady_clock::now() - begin).count();
    return status;
  }

  int64_t getWaited() const { return waited; }

  std::string getContext(absl::string_view what) const {
    return absl::StrCat("rank ", getRank(), ", ", what);
  }

  const std::shared_ptr<ThreadDomain> domain;
  const std::shared_ptr<ThreadGroup> group;
  size_t position;

private:
  template <typename What> absl::Status awaitAll(What what) {
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

  bool hasArrived(size_t peer) const {
    return group->slots[peer].phase.load(std::memory_order_acquire) >= phase;
  }

  absl::Status reportMissing() const {
    std::vector<int> missing;
    for (size_t peer = 0; peer < size(); ++peer)
      if (!hasArrived(peer))
        missing.push_back(group->ranks[peer]);
    return makeError(ErrorCode::CollectiveTimeout, "rank ",
                     absl::StrJoin(missing, ", "), " did not arrive within ",
                     absl::FormatDuration(domain->getTimeout()),
                     "; a longer --timeout helps if it is only slow");
  }

  uint64_t phase = 0;
  int64_t waited = 0; ///< Nanoseconds.
};

class ThreadCommunicator final : public Communicator {
public:
  explicit ThreadCommunicator(Member member) : member(std::move(member)) {}

  /// Memory is shared and the cores are busy anyway: nothing is gained by doing
  /// part of it later.
  absl::Status start(uint32_t index, const CollectiveCall &call) override {
    auto what = [&] { return describe(call); };
    member.mine().index = index;
    member.mine().call = call;
    TPRT_RETURN_IF_ERROR(member.meet(what)); // all sources are ready
    for (size_t peer = 0; peer < member.size(); ++peer)
      if (member.at(peer).index != index)
        return makeError(
            ErrorCode::CollectiveMismatch, member.getContext(what()), ": rank ",
            member.getRank(peer), " is at ", describe(member.at(peer).call));
    const CollectiveRow &row = *call.row;
    int64_t bytes = row.count * getSize(row.dtype);
    size_t position = member.position;
    switch (row.kind) {
    case CollectiveKind::AllReduce:
      TPRT_RETURN_IF_ERROR(allReduce(call));
      break;
    case CollectiveKind::AllGather:
      for (size_t peer = 0; peer < member.size(); ++peer)
        copy(call.destination + peer * bytes, sourceOf(peer), bytes);
      break;
    case CollectiveKind::ReduceScatter:
      reduce(row, position * bytes, row.count, call.destination);
      break;
    case CollectiveKind::AllToAll:
      for (size_t peer = 0; peer < member.size(); ++peer)
        copy(call.destination + peer * bytes, sourceOf(peer) + position * bytes,
             bytes);
      break;
    case CollectiveKind::CollectivePermute:
      if (int64_t from = call.permutation[position]; from >= 0)
        copy(call.destination, sourceOf(from), bytes);
      else if (bytes > 0)
        std::memset(call.destination, 0, bytes);
      break;
    }
    return member.meet(what); // all sources are free again
  }

  absl::Status finish(uint32_t index) override { return absl::OkStatus(); }

  int64_t getWaited() const override { return member.getWaited(); }

private:
  const char *sourceOf(size_t peer) { return member.at(peer).call.source; }

  static void copy(char *to, const char *from, int64_t bytes) {
    if (bytes > 0)
      std::memcpy(to, from, bytes);
  }

  /// Reduces `count` elements at byte `offset` of all sources.
  void reduce(const CollectiveRow &row, int64_t offset, int64_t count,
              char *to) {
    std::vector<const char *> sources(member.size());
    for (size_t peer = 0; peer < member.size(); ++peer)
      sources[peer] = sourceOf(peer) + offset;
    reduceInOrder(row.dtype, row.reduction, sources, count, to);
  }

  absl::Status allReduce(const CollectiveCall &call) {
    const CollectiveRow &row = *call.row;
    int64_t ranks = static_cast<int64_t>(member.size());
    auto begin = [&](int64_t position) {
      return row.count * position / ranks * getSize(row.dtype);
    };
    // In place is fine: a rank reads only its own part of the others' sources,
    // and writes only that part of its destination until they are done.
    int64_t position = static_cast<int64_t>(member.position);
    int64_t mine = begin(position);
    reduce(row, mine, (begin(position + 1) - mine) / getSize(row.dtype),
           call.destination + mine);
    TPRT_RETURN_IF_ERROR(member.meet([&] { return describe(call); }));
    for (int64_t peer = 0; peer < ranks; ++peer)
      if (peer != position)
        copy(call.destination + begin(peer),
             member.at(peer).call.destination + begin(peer),
             begin(peer + 1) - begin(peer));
    return absl::OkStatus();
  }

  Member member;
};

class ThreadWorld final : public World {
public:
  ThreadWorld(std::shared_ptr<ThreadDomain> shared, int rank)
      : domain(std::move(shared)), all(join(rank)) {}

  int getRank() const override { return all.getRank(); }
  int getSize() const override { return domain->getSize(); }

  absl::StatusOr<std::unique_ptr<Communicator>>
  split(const std::vector<int> &group) override {
    return std::make_unique<ThreadCommunicator>(
        Member(domain, domain->join(++splits, group), getRank()));
  }

  absl::StatusOr<std::vector<std::string>>
  exchange(absl::string_view mine, absl::string_view what) override {
    auto getWhat = [&] { return std::string(what); };
    all.mine().bytes = std::string(mine);
    TPRT_RETURN_IF_ERROR(all.meet(getWhat));
    std::vector<std::string> everyone;
    for (size_t peer = 0; peer < all.size(); ++peer)
      everyone.push_back(all.at(peer).bytes);
    TPRT_RETURN_IF_ERROR(all.meet(getWhat));
    return everyone;
  }

  void fail(const absl::Status &cause) override { domain->fail(cause); }

  absl::Status check() override {
    if (!domain->hasFailed())
      return absl::OkStatus();
    return addContext(domain->getFailure(), absl::StrCat("rank ", getRank()));
  }

private:
  /// The group of all, the occasion before the first split.
  Member join(int rank) {
    std::vector<int> everyone(domain->getSize());
    for (int i = 0; i < domain->getSize(); ++i)
      everyone[i] = i;
    return Member(domain, domain->join(0, everyone), rank);
  }

  const std::shared_ptr<ThreadDomain> domain;
  int splits = 0;
  Member all;
};

} // namespace

std::unique_ptr<World>
tprt::makeThreadWorld(std::shared_ptr<ThreadDomain> domain, int rank) {
  return std::make_unique<ThreadWorld>(std::move(domain), rank);
}
