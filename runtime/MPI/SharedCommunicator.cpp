// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/MPI/SharedCommunicator.h"

#include "runtime/Communicators/Reduce.h"
#include "runtime/Core/Cores.h"
#include "runtime/Core/Futex.h"
#include "runtime/MPI/SharedMemory.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/clock.h"

#include <cstring>
#include <sched.h>

using namespace tprt;

namespace {

constexpr uint32_t kNumBuffers = 4;
/// The size of one rank's block in one buffer.
constexpr int64_t kBlockBytes = 65536;
/// Up to this size, the last rank to arrive reduces for all: the others are
/// waiting for it anyway.
constexpr int64_t kSmallBytes = 8192;
/// The largest size of a group: a block must have room for at least one element
/// for every rank.
constexpr size_t kMaxRanks = 1024;

/// A barrier that all ranks pass once for each use of a buffer. Stages are
/// numbered, so a stage that has already been reached is not waited for.
struct Gate {
  alignas(64) std::atomic<uint64_t> arrivals;
  SharedFutex passed; ///< The last stage that all have reached.

  /// Compares stage numbers modulo 2^32, because a futex holds only 32 bits.
  bool isPassed(uint64_t stage) const {
    return static_cast<int32_t>(passed.get() - static_cast<uint32_t>(stage)) >=
           0;
  }
};

struct Buffer {
  Gate written, read;
  alignas(64) char reduced[kSmallBytes];
};

struct Seat {
  alignas(64) std::atomic<uint64_t> written; ///< The rank's last stage.
  std::atomic<uint64_t> read;
  CollectiveHeader headers[kNumBuffers]; ///< The collectives of its blocks.
  int64_t started[kNumBuffers];          ///< See CollectiveCall.
};

/// The layout of the group's shared memory, which is initially zero: first the
/// array of Buffer structs, then one Seat for each rank, then the blocks. Each
/// buffer has one block for each rank; the blocks of a buffer are contiguous.
class Room {
public:
  Room(SharedMemory shared, size_t ranks)
      : memory(std::move(shared)), ranks(ranks) {}

  static size_t getBytes(size_t ranks) {
    return kNumBuffers * sizeof(Buffer) +
           ranks * (sizeof(Seat) + kNumBuffers * kBlockBytes);
  }

  Buffer &getBuffer(uint32_t buffer) {
    return reinterpret_cast<Buffer *>(memory.data())[buffer];
  }
  Seat &getSeat(size_t rank) { return getSeats()[rank]; }
  char *getBlock(uint32_t buffer, size_t rank) {
    return reinterpret_cast<char *>(getSeats() + ranks) +
           (buffer * ranks + rank) * kBlockBytes;
  }

private:
  Seat *getSeats() {
    return reinterpret_cast<Seat *>(memory.data() +
                                    kNumBuffers * sizeof(Buffer));
  }

  SharedMemory memory;
  const size_t ranks;
};

/// A collective under way.
struct Running {
  uint32_t index = 0;
  CollectiveCall call;
  uint64_t firstStage = 0;
  bool isFirstRead = false;
};

class SharedCommunicator final : public Communicator {
public:
  SharedCommunicator(MpiWorld &world, std::vector<int> group,
                     SharedMemory memory)
      : world(world), group(std::move(group)),
        room(std::move(memory), this->group.size()),
        position(absl::c_find(this->group, world.getRank()) -
                 this->group.begin()) {}

  absl::Status start(uint32_t index, const CollectiveCall &call) override;
  absl::Status finish(uint32_t index) override;
  int64_t getWaited() const override { return waited; }
  int64_t getLastStart() const override { return lastStart; }

private:
  int64_t size() const { return static_cast<int64_t>(group.size()); }

  /// A range of the elements of a collective.
  struct Part {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
  };
  bool isReducedByLast(const CollectiveRow &row) const;
  bool isForEach(const CollectiveRow &row) const;
  int64_t getElementsPerStage(const CollectiveRow &row) const;
  int64_t getNumStages(const CollectiveRow &row) const;
  Part getPart(const CollectiveRow &row, int64_t stage) const;
  Part getShare(Part part, int64_t peer) const;

  absl::Status write(Running &running, int64_t stage);
  absl::Status read(Running &running, int64_t stage, uint64_t number);
  absl::Status readFirst(Running &running);
  void fillBlock(const CollectiveCall &call, int64_t stage, char *block);
  void readBlocks(const CollectiveCall &call, int64_t stage, uint32_t buffer);
  void reduceBlocks(const CollectiveRow &row, uint32_t buffer, int64_t offset,
                    int64_t count, char *to);

  template <typename Last>
  void arrive(Gate &gate, uint64_t number, Last doLast);
  absl::Status await(Gate &gate, uint64_t number, const CollectiveCall &call,
                     std::atomic<uint64_t> Seat::*reached);

  MpiWorld &world;
  const std::vector<int> group;
  Room room;
  const int64_t position;
  /// The number of the next stage. Stage n uses buffer n % kNumBuffers. Numbers
  /// begin at kNumBuffers, so that n / kNumBuffers counts the uses of that
  /// buffer, from 1.
  uint64_t nextNumber = kNumBuffers;
  absl::flat_hash_map<uint32_t, std::unique_ptr<Running>> running;
  /// For each buffer, the collective whose first stage has been written to the
  /// buffer but not read yet; null if there is none.
  Running *unread[kNumBuffers] = {};
  int64_t waited = 0, lastStart = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// What a stage of each collective writes and reads
//===----------------------------------------------------------------------===//

bool SharedCommunicator::isReducedByLast(const CollectiveRow &row) const {
  return row.kind == CollectiveKind::AllReduce &&
         row.count * getSize(row.dtype) <= kSmallBytes;
}

/// Returns true if each rank has `count` elements for each of the others.
bool SharedCommunicator::isForEach(const CollectiveRow &row) const {
  return row.kind == CollectiveKind::ReduceScatter ||
         row.kind == CollectiveKind::AllToAll;
}

int64_t
SharedCommunicator::getElementsPerStage(const CollectiveRow &row) const {
  return kBlockBytes / static_cast<int64_t>(getSize(row.dtype)) /
         (isForEach(row) ? size() : 1);
}

int64_t SharedCommunicator::getNumStages(const CollectiveRow &row) const {
  if (isReducedByLast(row))
    return 1;
  int64_t each = getElementsPerStage(row);
  int64_t parts = std::max<int64_t>(1, (row.count + each - 1) / each);
  // An all-reduce takes two stages for each part. In the first, each rank
  // reduces a share of the part. In the second, they exchange reduced shares.
  return row.kind == CollectiveKind::AllReduce ? 2 * parts : parts;
}

SharedCommunicator::Part SharedCommunicator::getPart(const CollectiveRow &row,
                                                     int64_t stage) const {
  int64_t each = getElementsPerStage(row);
  if (row.kind == CollectiveKind::AllReduce)
    stage /= 2;
  return {stage * each, std::min(row.count, (stage + 1) * each)};
}

/// Returns the elements of `part` that the rank at position `peer` reduces for
/// all ranks.
SharedCommunicator::Part SharedCommunicator::getShare(Part part,
                                                      int64_t peer) const {
  return {part.begin + part.size() * peer / size(),
          part.begin + part.size() * (peer + 1) / size()};
}

void SharedCommunicator::fillBlock(const CollectiveCall &call, int64_t stage,
                                   char *block) {
  const CollectiveRow &row = *call.row;
  int64_t bytes = getSize(row.dtype);
  Part part = getPart(row, stage);
  if (isForEach(row)) {
    for (int64_t peer = 0; peer < size(); ++peer)
      copyBytes(block + peer * part.size() * bytes,
                call.source + (peer * row.count + part.begin) * bytes,
                part.size() * bytes);
    return;
  }
  if (row.kind == CollectiveKind::AllReduce && stage % 2 == 1) {
    Part mine = getShare(part, position);
    copyBytes(block, call.destination + mine.begin * bytes,
              mine.size() * bytes);
    return;
  }
  if (row.kind == CollectiveKind::CollectivePermute &&
      !absl::c_linear_search(call.permutation, position))
    return;
  copyBytes(block, call.source + part.begin * bytes, part.size() * bytes);
}

void SharedCommunicator::readBlocks(const CollectiveCall &call, int64_t stage,
                                    uint32_t buffer) {
  const CollectiveRow &row = *call.row;
  int64_t bytes = getSize(row.dtype);
  Part part = getPart(row, stage);
  char *to = call.destination + part.begin * bytes;
  switch (row.kind) {
  case CollectiveKind::AllReduce:
    if (isReducedByLast(row)) {
      copyBytes(to, room.getBuffer(buffer).reduced, part.size() * bytes);
      return;
    }
    for (int64_t peer = 0; peer < size(); ++peer) {
      Part share = getShare(part, peer);
      char *result = call.destination + share.begin * bytes;
      if (peer == position && stage % 2 == 0)
        reduceBlocks(row, buffer, share.begin - part.begin, share.size(),
                     result);
      else if (peer != position && stage % 2 == 1)
        copyBytes(result, room.getBlock(buffer, peer), share.size() * bytes);
    }
    return;
  case CollectiveKind::ReduceScatter:
    reduceBlocks(row, buffer, position * part.size(), part.size(), to);
    return;
  case CollectiveKind::AllGather:
    for (int64_t peer = 0; peer < size(); ++peer)
      copyBytes(to + peer * row.count * bytes, room.getBlock(buffer, peer),
                part.size() * bytes);
    return;
  case CollectiveKind::AllToAll:
    for (int64_t peer = 0; peer < size(); ++peer)
      copyBytes(to + peer * row.count * bytes,
                room.getBlock(buffer, peer) + position * part.size() * bytes,
                part.size() * bytes);
    return;
  case CollectiveKind::CollectivePermute:
    if (int64_t from = call.permutation[position]; from >= 0)
      copyBytes(to, room.getBlock(buffer, from), part.size() * bytes);
    else if (part.size() > 0)
      std::memset(to, 0, part.size() * bytes);
    return;
  }
}

/// Reduces the `count` elements that follow the first `offset` of each block.
void SharedCommunicator::reduceBlocks(const CollectiveRow &row, uint32_t buffer,
                                      int64_t offset, int64_t count, char *to) {
  std::vector<const char *> sources(group.size());
  for (size_t peer = 0; peer < group.size(); ++peer)
    sources[peer] = room.getBlock(buffer, peer) + offset * getSize(row.dtype);
  reduceInOrder(row.dtype, row.reduction, sources, count, to);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

absl::Status SharedCommunicator::start(uint32_t index,
                                       const CollectiveCall &call) {
  auto fresh = std::make_unique<Running>();
  fresh->index = index;
  fresh->call = call;
  fresh->firstStage = nextNumber;
  TPRT_RETURN_IF_ERROR(write(*fresh, 0));
  unread[fresh->firstStage % kNumBuffers] = fresh.get();
  running[index] = std::move(fresh);
  return absl::OkStatus();
}

absl::Status SharedCommunicator::finish(uint32_t index) {
  std::unique_ptr<Running> now = std::move(running[index]);
  running.erase(index);
  TPRT_RETURN_IF_ERROR(readFirst(*now));
  int64_t stages = getNumStages(*now->call.row);
  for (int64_t stage = 1; stage < stages; ++stage) {
    uint64_t number = nextNumber;
    TPRT_RETURN_IF_ERROR(write(*now, stage));
    TPRT_RETURN_IF_ERROR(read(*now, stage, number));
  }
  return absl::OkStatus();
}

absl::Status SharedCommunicator::readFirst(Running &now) {
  if (now.isFirstRead)
    return absl::OkStatus();
  now.isFirstRead = true;
  unread[now.firstStage % kNumBuffers] = nullptr;
  return read(now, 0, now.firstStage);
}

absl::Status SharedCommunicator::write(Running &now, int64_t stage) {
  uint64_t number = nextNumber++;
  uint32_t buffer = number % kNumBuffers;
  // If more collectives are under way than there are buffers, the oldest is
  // read early. Its destination has been available since it was started.
  if (Running *oldest = unread[buffer])
    TPRT_RETURN_IF_ERROR(readFirst(*oldest));
  Buffer &here = room.getBuffer(buffer);
  TPRT_RETURN_IF_ERROR(
      await(here.read, number - kNumBuffers, now.call, &Seat::read));
  const CollectiveRow &row = *now.call.row;
  Seat &mine = room.getSeat(position);
  fillBlock(now.call, stage, room.getBlock(buffer, position));
  mine.headers[buffer] = {now.index, world.getRunDigest()};
  mine.started[buffer] = now.call.started;
  mine.written.store(number, std::memory_order_release);
  arrive(here.written, number, [&] {
    if (isReducedByLast(row))
      reduceBlocks(row, buffer, 0, row.count, here.reduced);
  });
  return absl::OkStatus();
}

absl::Status SharedCommunicator::read(Running &now, int64_t stage,
                                      uint64_t number) {
  uint32_t buffer = number % kNumBuffers;
  Buffer &here = room.getBuffer(buffer);
  TPRT_RETURN_IF_ERROR(await(here.written, number, now.call, &Seat::written));
  CollectiveHeader ours{now.index, world.getRunDigest()};
  lastStart = 0;
  for (size_t peer = 0; peer < group.size(); ++peer) {
    const Seat &seat = room.getSeat(peer);
    TPRT_RETURN_IF_ERROR(
        world.compare(ours, seat.headers[buffer], group[peer], now.call));
    lastStart = std::max(lastStart, seat.started[buffer]);
  }
  readBlocks(now.call, stage, buffer);
  room.getSeat(position).read.store(number, std::memory_order_release);
  arrive(here.read, number, [] {});
  return absl::OkStatus();
}

/// Counts this rank's arrival at a barrier. The last rank to arrive calls
/// `doLast` and lets all ranks pass.
template <typename Last>
void SharedCommunicator::arrive(Gate &gate, uint64_t number, Last doLast) {
  uint64_t all = number / kNumBuffers * group.size();
  if (gate.arrivals.fetch_add(1, std::memory_order_acq_rel) + 1 != all)
    return;
  doLast();
  gate.passed.set(static_cast<uint32_t>(number));
}

/// Waits until all ranks have arrived at the barrier `gate` for the stage with
/// this number. `reached` is the field of Seat that holds the last stage which
/// the seat's rank has reached; errors name the ranks that are behind.
absl::Status SharedCommunicator::await(Gate &gate, uint64_t number,
                                       const CollectiveCall &call,
                                       std::atomic<uint64_t> Seat::*reached) {
  if (number < kNumBuffers || gate.isPassed(number))
    return absl::OkStatus();
  // The sleeps are short because a failed rank does not wake others, and
  // because MPI must be called to transfer messages.
  absl::Duration nap =
      world.hasMessages() ? absl::Microseconds(100) : absl::Milliseconds(20);
  auto getWhat = [&] { return describe(call); };
  auto getMissing = [&] {
    std::vector<int> missing;
    for (size_t peer = 0; peer < group.size(); ++peer)
      if ((room.getSeat(peer).*reached).load() < number)
        missing.push_back(group[peer]);
    return missing;
  };
  PeerWait peers(world, getWhat, getMissing);
  int64_t begin = absl::GetCurrentTimeNanos();
  absl::Status status;
  if (world.getCoresPerRank() == 0)
    takeTurns([&] { return gate.isPassed(number); });
  for (int look = 0; !gate.isPassed(number); ++look) {
    bool spins = world.maySpin();
    if (spins && look < kFastLooks) {
      relax();
      continue;
    }
    if (spins || look > 0)
      if (status = peers.check(); !status.ok())
        break;
    if (spins && peers.getWaited() < absl::FromChrono(kSpinTime)) {
      sched_yield();
      continue;
    }
    uint32_t seen = gate.passed.get();
    if (!gate.isPassed(number))
      gate.passed.wait(seen, nap);
  }
  waited += absl::GetCurrentTimeNanos() - begin;
  return status;
}

absl::StatusOr<std::unique_ptr<Communicator>>
tprt::makeSharedCommunicator(MpiWorld &world, const std::vector<int> &group) {
  size_t bytes = Room::getBytes(group.size());
  bool canShare =
      group.size() > 1 && group.size() <= kMaxRanks && world.isOneHost(group);
  absl::optional<SharedMemory> memory;
  std::string ticket;
  if (canShare && group.front() == world.getRank())
    if (memory = SharedMemory::create(bytes); memory)
      ticket = memory->getTicket();
  TPRT_ASSIGN_OR_RETURN(std::vector<std::string> tickets,
                        world.exchange(ticket, "sharing memory"));
  if (canShare && group.front() != world.getRank())
    memory = SharedMemory::open(tickets[group.front()], bytes);
  TPRT_ASSIGN_OR_RETURN(
      std::vector<std::string> answers,
      world.exchange(memory ? "shared" : "none", "sharing memory"));
  if (!absl::c_all_of(group,
                      [&](int peer) { return answers[peer] == "shared"; }))
    return nullptr;
  memory->close();
  return std::make_unique<SharedCommunicator>(world, group, *std::move(memory));
}
