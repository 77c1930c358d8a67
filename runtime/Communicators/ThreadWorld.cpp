// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Communicators/ThreadWorld.h"

#include "runtime/Communicators/Meeting.h"
#include "runtime/Communicators/Reduce.h"

#include <algorithm>

using namespace tprt;

std::string tprt::describe(const CollectiveCall &call) {
  constexpr absl::string_view names[kNumCollectives] = {
#define TPRT_COLLECTIVE(enumerator, number, name) name,
#include "runtime/Core/ArtifactEnums.def"
  };
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
  if (cause.ok() || getErrorCode(cause) == ErrorCode::Aborted ||
      getErrorCode(cause) == ErrorCode::RunTimeout)
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

class ThreadCommunicator final : public Communicator {
public:
  explicit ThreadCommunicator(Meeting meeting) : meeting(std::move(meeting)) {}

  /// Does the whole collective at once: memory is shared and the cores are busy
  /// anyway, so deferring a part of the work to `finish` gains nothing.
  absl::Status start(uint32_t index, const CollectiveCall &call) override {
    const CollectiveRow &row = *call.row;
    int64_t bytes = row.count * getSize(row.dtype);
    // A small collective spends most of its time in barriers. If the sources
    // are copied, one barrier suffices.
    int64_t sent = getSourceBytes(row);
    bool isSmall = sent <= kSmallBytes;
    bool isReducedByLast = isSmall && row.kind == CollectiveKind::AllReduce;
    TPRT_RETURN_IF_ERROR(meeting.meetAt(index, call, isSmall ? sent : 0, [&] {
      // The other ranks are waiting for this one, so it reduces for all.
      if (!isReducedByLast)
        return;
      meeting.getForAll().resize(bytes);
      reduce(row, 0, row.count, meeting.getForAll().data());
    })); // sources are ready
    lastStart = 0;
    for (size_t peer = 0; peer < meeting.size(); ++peer)
      lastStart = std::max(lastStart, meeting.shown(peer).call.started);
    size_t position = meeting.position;
    switch (row.kind) {
    case CollectiveKind::AllReduce:
      if (isReducedByLast)
        copyBytes(call.destination, meeting.getForAll().data(), bytes);
      else
        TPRT_RETURN_IF_ERROR(allReduce(call));
      break;
    case CollectiveKind::AllGather:
      for (size_t peer = 0; peer < meeting.size(); ++peer)
        copyBytes(call.destination + peer * bytes, sourceOf(peer), bytes);
      break;
    case CollectiveKind::ReduceScatter:
      reduce(row, position * bytes, row.count, call.destination);
      break;
    case CollectiveKind::AllToAll:
      for (size_t peer = 0; peer < meeting.size(); ++peer)
        copyBytes(call.destination + peer * bytes,
                  sourceOf(peer) + position * bytes, bytes);
      break;
    case CollectiveKind::CollectivePermute:
      if (int64_t from = call.permutation[position]; from >= 0)
        copyBytes(call.destination, sourceOf(from), bytes);
      else if (bytes > 0)
        std::memset(call.destination, 0, bytes);
      break;
    }
    if (isSmall)
      return absl::OkStatus();
    return meeting.meet([&] { return describe(call); }); // sources are free
  }

  absl::Status finish(uint32_t index) override { return absl::OkStatus(); }

  int64_t getWaited() const override { return meeting.getWaited(); }
  int64_t getLastStart() const override { return lastStart; }

private:
  /// Up to this many bytes, copying and reducing all data takes less time than
  /// a barrier.
  static constexpr int64_t kSmallBytes = 8192;

  int64_t getSourceBytes(const CollectiveRow &row) const {
    bool isForAll = row.kind == CollectiveKind::ReduceScatter ||
                    row.kind == CollectiveKind::AllToAll;
    return row.count * getSize(row.dtype) *
           (isForAll ? static_cast<int64_t>(meeting.size()) : 1);
  }

  const char *sourceOf(size_t peer) { return meeting.shown(peer).call.source; }

  /// Reduces `count` elements at byte `offset` of all sources.
  void reduce(const CollectiveRow &row, int64_t offset, int64_t count,
              char *to) {
    std::vector<const char *> sources(meeting.size());
    for (size_t peer = 0; peer < meeting.size(); ++peer)
      sources[peer] = sourceOf(peer) + offset;
    reduceInOrder(row.dtype, row.reduction, sources, count, to);
  }

  absl::Status allReduce(const CollectiveCall &call) {
    const CollectiveRow &row = *call.row;
    int64_t ranks = static_cast<int64_t>(meeting.size());
    auto begin = [&](int64_t position) {
      return row.count * position / ranks * getSize(row.dtype);
    };
    // Source and destination may be the same memory: until all ranks have
    // reduced their parts, rank p reads only part p of the sources, and writes
    // only part p of its destination.
    int64_t position = static_cast<int64_t>(meeting.position);
    int64_t mine = begin(position);
    reduce(row, mine, (begin(position + 1) - mine) / getSize(row.dtype),
           call.destination + mine);
    TPRT_RETURN_IF_ERROR(meeting.meet([&] { return describe(call); }));
    for (int64_t peer = 0; peer < ranks; ++peer)
      if (peer != position)
        copyBytes(call.destination + begin(peer),
                  meeting.shown(peer).call.destination + begin(peer),
                  begin(peer + 1) - begin(peer));
    return absl::OkStatus();
  }

  Meeting meeting;
  int64_t lastStart = 0;
};

class ThreadWorld final : public World {
public:
  ThreadWorld(std::shared_ptr<ThreadDomain> shared, int rank)
      : domain(std::move(shared)), all(join(rank)) {}

  int getRank() const override { return all.getRank(); }
  int getSize() const override { return domain->getSize(); }
  int getCoresPerRank() const override { return domain->getCoresPerRank(); }

  absl::StatusOr<std::unique_ptr<Communicator>>
  split(const std::vector<int> &group) override {
    return std::make_unique<ThreadCommunicator>(
        Meeting(domain, domain->join(++splits, group), getRank(), this));
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

  std::shared_ptr<ThreadDomain> getThreads() const override { return domain; }

  absl::Status check() override {
    if (!domain->hasFailed())
      return absl::OkStatus();
    return addContext(domain->getFailure(), absl::StrCat("rank ", getRank()));
  }

private:
  /// Joins the group of all ranks. The occasion of this group has number 0; the
  /// calls of `split` are the occasions 1, 2, ..
  Meeting join(int rank) {
    std::vector<int> everyone(domain->getSize());
    for (int i = 0; i < domain->getSize(); ++i)
      everyone[i] = i;
    return Meeting(domain, domain->join(0, everyone), rank, this);
  }

  const std::shared_ptr<ThreadDomain> domain;
  int splits = 0;
  Meeting all;
};

} // namespace

std::unique_ptr<World>
tprt::makeThreadWorld(std::shared_ptr<ThreadDomain> domain, int rank) {
  return std::make_unique<ThreadWorld>(std::move(domain), rank);
}
