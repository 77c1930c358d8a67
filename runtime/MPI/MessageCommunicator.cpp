// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Collectives that consist of messages between pairs of ranks. There are
/// three reasons not to use MPI's own collectives. Reductions are computed
/// here, in rank order, and give the same bits as between threads. If a rank is
/// missing, messages can name it. And nothing blocks, so a deadline, a failed
/// peer and the launcher's SIGTERM are noticed while waiting. An all-reduce
/// moves 2(g-1)/g of its payload, as a ring does.
///
/// Each message of a collective is preceded by the number of the collective and
/// a digest of everything that the run depends on. So ranks that are out of
/// step, or were given different values, find out at once. Each communicator
/// only needs a tag of its own: the messages between two ranks stay in order,
/// and all ranks run the same step table.

#include "runtime/Communicators/Reduce.h"
#include "runtime/MPI/MpiWorld.h"

#include "absl/container/flat_hash_map.h"

#include <cstring>

using namespace tprt;

namespace {

class MessageCommunicator final : public Communicator {
public:
  MessageCommunicator(MpiWorld &world, std::vector<int> group, int tag)
      : world(world), group(std::move(group)), tag(tag) {
    position =
        std::find(this->group.begin(), this->group.end(), world.getRank()) -
        this->group.begin();
  }

  absl::Status start(uint32_t index, const CollectiveCall &call) override;
  absl::Status finish(uint32_t index) override;

private:
  struct Running {
    explicit Running(MpiWorld &world) : world(world) { world.beginMessages(); }
    ~Running() { world.endMessages(); }

    MpiWorld &world;
    CollectiveCall call;
    CollectiveHeader header;
    std::vector<CollectiveHeader> theirHeaders; ///< Indexed by position.
    std::vector<char> scratch; ///< Other ranks' parts of a reduction.
    Messages messages;
  };

  int64_t getSize() const { return static_cast<int64_t>(group.size()); }
  void send(Running &running, int64_t peer, const char *data, int64_t bytes) {
    running.messages.send(world.getComm(), group[peer], tag, data, bytes);
  }
  void receive(Running &running, int64_t peer, char *data, int64_t bytes) {
    running.messages.receive(world.getComm(), group[peer], tag, data, bytes);
  }
  /// Position p reduces elements [begin(p), begin(p+1)).
  int64_t getBegin(const CollectiveRow &row, int64_t peer) const {
    return row.kind == CollectiveKind::AllReduce ? row.count * peer / getSize()
                                                 : row.count * peer;
  }

  void startReduction(Running &running);
  void reduce(Running &running);
  absl::Status wait(Running &running);

  MpiWorld &world;
  const std::vector<int> group;
  const int tag;
  int64_t position;
  absl::flat_hash_map<uint32_t, std::unique_ptr<Running>> running;
};

} // namespace

absl::Status MessageCommunicator::start(uint32_t index,
                                        const CollectiveCall &call) {
  auto fresh = std::make_unique<Running>(world);
  Running &now = *fresh;
  now.call = call;
  now.header = {index, world.getRunDigest()};
  now.theirHeaders.assign(group.size(), now.header);
  running[index] = std::move(fresh);
  absl::MutexLock lock(&world.getTurn());
  for (int64_t peer = 0; peer < getSize(); ++peer)
    if (peer != position) {
      receive(now, peer, reinterpret_cast<char *>(&now.theirHeaders[peer]),
              sizeof(CollectiveHeader));
      send(now, peer, reinterpret_cast<const char *>(&now.header),
           sizeof(CollectiveHeader));
    }

  const CollectiveRow &row = *call.row;
  int64_t bytes = row.count * tprt::getSize(row.dtype);
  switch (row.kind) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::ReduceScatter:
    startReduction(now);
    break;
  case CollectiveKind::AllGather:
  case CollectiveKind::AllToAll: {
    int64_t step = row.kind == CollectiveKind::AllToAll ? bytes : 0;
    for (int64_t peer = 0; peer < getSize(); ++peer) {
      char *to = call.destination + peer * bytes;
      const char *from = call.source + peer * step;
      if (peer == position) {
        copyBytes(to, from, bytes);
        continue;
      }
      receive(now, peer, to, bytes);
      send(now, peer, from, bytes);
    }
    break;
  }
  case CollectiveKind::CollectivePermute:
    for (int64_t peer = 0; peer < getSize(); ++peer)
      if (call.permutation[peer] == position && peer != position)
        send(now, peer, call.source, bytes);
    if (int64_t from = call.permutation[position]; from == position)
      copyBytes(call.destination, call.source, bytes);
    else if (from >= 0)
      receive(now, from, call.destination, bytes);
    else if (bytes > 0)
      std::memset(call.destination, 0, bytes);
    break;
  }
  return absl::OkStatus();
}

/// In a reduction, each rank reduces one part. Sends the other ranks their
/// parts of this rank's elements, and receives the others' elements of this
/// rank's part.
void MessageCommunicator::startReduction(Running &now) {
  const CollectiveRow &row = *now.call.row;
  int64_t size = tprt::getSize(row.dtype);
  int64_t mine = (getBegin(row, position + 1) - getBegin(row, position)) * size;
  now.scratch.resize(mine * getSize());
  for (int64_t peer = 0; peer < getSize(); ++peer) {
    if (peer == position)
      continue;
    int64_t begin = getBegin(row, peer) * size;
    receive(now, peer, now.scratch.data() + peer * mine, mine);
    send(now, peer, now.call.source + begin,
         getBegin(row, peer + 1) * size - begin);
  }
}

void MessageCommunicator::reduce(Running &now) {
  const CollectiveRow &row = *now.call.row;
  int64_t size = tprt::getSize(row.dtype);
  int64_t begin = getBegin(row, position);
  int64_t count = getBegin(row, position + 1) - begin;
  std::vector<const char *> sources(group.size());
  for (int64_t peer = 0; peer < getSize(); ++peer)
    sources[peer] = peer == position ? now.call.source + begin * size
                                     : now.scratch.data() + peer * count * size;
  bool keepsPlace = row.kind == CollectiveKind::AllReduce;
  reduceInOrder(row.dtype, row.reduction, sources, count,
                now.call.destination + (keepsPlace ? begin * size : 0));
}

/// Waits for the messages and compares the headers that preceded them.
absl::Status MessageCommunicator::wait(Running &now) {
  absl::Status status =
      world.wait(now.messages, [&] { return describe(now.call); });
  for (int64_t peer = 0; peer < getSize(); ++peer)
    TPRT_RETURN_IF_ERROR(world.compare(now.header, now.theirHeaders[peer],
                                       group[peer], now.call));
  now.messages = Messages();
  return status;
}

absl::Status MessageCommunicator::finish(uint32_t index) {
  std::unique_ptr<Running> now = std::move(running[index]);
  running.erase(index);
  absl::Status status = wait(*now);
  if (!status.ok()) {
    // MPI may still write into the messages' memory, so it is never freed.
    now.release();
    return status;
  }
  const CollectiveRow &row = *now->call.row;
  if (row.kind != CollectiveKind::AllReduce &&
      row.kind != CollectiveKind::ReduceScatter)
    return absl::OkStatus();
  reduce(*now);
  if (row.kind == CollectiveKind::ReduceScatter)
    return absl::OkStatus();
  int64_t size = tprt::getSize(row.dtype);
  char *to = now->call.destination;
  int64_t begin = getBegin(row, position) * size;
  int64_t end = getBegin(row, position + 1) * size;
  {
    absl::MutexLock lock(&world.getTurn());
    for (int64_t peer = 0; peer < getSize(); ++peer) {
      if (peer == position)
        continue;
      int64_t theirs = getBegin(row, peer) * size;
      receive(*now, peer, to + theirs, getBegin(row, peer + 1) * size - theirs);
      send(*now, peer, to + begin, end - begin);
    }
  }
  status = wait(*now);
  if (!status.ok())
    now.release();
  return status;
}

std::unique_ptr<Communicator>
tprt::makeMessageCommunicator(MpiWorld &world, const std::vector<int> &group,
                              int tag) {
  return std::make_unique<MessageCommunicator>(world, group, tag);
}
