// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Ranks that are processes which mpirun started, on one host or several.
///
/// Every collective is made of messages between pairs, for three reasons: the
/// reduction happens here, in rank order, with the same bits as between
/// threads; a rank that does not come is known by name; and nothing blocks, so
/// that a deadline, a failed peer and the launcher's SIGTERM are seen while
/// waiting. An all-reduce moves 2(g-1)/g of its payload, as a ring does.
///
/// Each message of a collective is preceded by the number of the collective, so
/// that ranks which have lost step find out at once. A communicator is a tag:
/// the messages of a pair stay in order, and all ranks run the same step table.

#include "runtime/Communicators/Reduce.h"
#include "runtime/Core/AlignedBuffer.h"
#include "runtime/Core/Backend.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <csignal>
#include <mpi.h>
#include <sched.h>
#include <thread>

using namespace tprt;

namespace {

constexpr int kExchangeTag = 0;
constexpr int kFailureTag = 1;
constexpr int kDepartureTag = 2;
constexpr int kFirstGroupTag = 3;
/// MPI counts in int: larger messages go in pieces of this many bytes.
constexpr int64_t kPiece = int64_t{1} << 30;

/// Set when the launcher ends the job, which it does when a rank has died.
volatile std::sig_atomic_t wasTerminated = 0;
void onTerminate(int) { wasTerminated = 1; }

} // namespace

static absl::Status check(int result, absl::string_view what) {
  if (result == MPI_SUCCESS)
    return absl::OkStatus();
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  return makeError(ErrorCode::Transport, "MPI: ", what, ": ", text);
}

namespace {

/// Messages under way, and whom those yet to be received come from.
struct Messages {
  std::vector<MPI_Request> requests;
  std::vector<int> senders; ///< -1 for a message of ours.

  void send(MPI_Comm comm, int to, int tag, const char *data, int64_t bytes) {
    for (int64_t at = 0; at == 0 || at < bytes; at += kPiece) {
      requests.emplace_back();
      senders.push_back(-1);
      int size = static_cast<int>(std::min(kPiece, bytes - at));
      MPI_Isend(data + at, size, MPI_BYTE, to, tag, comm, &requests.back());
    }
  }
  void receive(MPI_Comm comm, int from, int tag, char *data, int64_t bytes) {
    for (int64_t at = 0; at == 0 || at < bytes; at += kPiece) {
      requests.emplace_back();
      senders.push_back(from);
      int size = static_cast<int>(std::min(kPiece, bytes - at));
      MPI_Irecv(data + at, size, MPI_BYTE, from, tag, comm, &requests.back());
    }
  }
};

class MpiWorld final : public World {
public:
  MpiWorld(absl::Duration timeout, bool owned)
      : timeout(timeout), owned(owned), thread(std::this_thread::get_id()) {}
  ~MpiWorld() override;

  absl::Status connect();

  int getRank() const override { return rank; }
  int getSize() const override { return size; }
  MPI_Comm getComm() const { return comm; }

  absl::StatusOr<std::unique_ptr<Communicator>>
  split(const std::vector<int> &group) override;
  absl::StatusOr<std::vector<std::string>>
  exchange(absl::string_view mine, absl::string_view what) override;
  void fail(const absl::Status &cause) override;
  absl::Status check() override;
  void depart() override;

  /// Waits for all messages; `what()` names the occasion.
  template <typename What> absl::Status wait(Messages &messages, What what);

  std::string getContext(absl::string_view what) const {
    return absl::StrCat("rank ", rank, ", ", what);
  }

private:
  /// `check` without saying which rank this is.
  absl::Status findFailure();
  absl::Status receiveFailure();
  void tellFailure();
  static void finishWithin(Messages &messages, absl::Duration time);

  const absl::Duration timeout;
  const bool owned; ///< MPI was started here and is ended here.
  const std::thread::id thread;
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 1;
  int groups = 0;
  MPI_Request failureRequest = MPI_REQUEST_NULL;
  char failureText[1024] = {};
  std::vector<char> farewells; ///< By rank; MPI may write here to the end.
  absl::Mutex mutex;
  absl::Status failure ABSL_GUARDED_BY(mutex);
  bool hasTold = false;
};

} // namespace

MpiWorld::~MpiWorld() {
  bool failed;
  {
    absl::MutexLock lock(&mutex);
    failed = !failure.ok();
  }
  // After a failure the others may never come to a finalize: leaving without
  // one makes the launcher end them.
  if (failed)
    return;
  if (failureRequest != MPI_REQUEST_NULL) {
    MPI_Cancel(&failureRequest);
    MPI_Wait(&failureRequest, MPI_STATUS_IGNORE);
  }
  if (comm != MPI_COMM_NULL)
    MPI_Comm_free(&comm);
  if (owned)
    MPI_Finalize();
}

absl::Status MpiWorld::connect() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // Our own messages shall not meet the embedding program's.
  Messages messages;
  messages.requests.emplace_back();
  messages.senders.push_back(-1);
  TPRT_RETURN_IF_ERROR(::check(
      MPI_Comm_idup(MPI_COMM_WORLD, &comm, &messages.requests[0]), "idup"));
  TPRT_RETURN_IF_ERROR(wait(messages, [] { return "joining the job"; }));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return ::check(MPI_Irecv(failureText, sizeof(failureText) - 1, MPI_BYTE,
                           MPI_ANY_SOURCE, kFailureTag, comm, &failureRequest),
                 "receiving");
}

void MpiWorld::fail(const absl::Status &cause) {
  {
    absl::MutexLock lock(&mutex);
    if (failure.ok())
      failure = cause;
  }
  if (std::this_thread::get_id() == thread)
    tellFailure(); // else the rank's own thread does at its next check
}

/// Sends the failure to all others, unless it came from one of them.
void MpiWorld::tellFailure() {
  if (hasTold)
    return;
  hasTold = true;
  std::string text;
  {
    absl::MutexLock lock(&mutex);
    if (getErrorCode(failure) == ErrorCode::PeerFailed)
      return;
    text = std::string(failure.message().substr(0, sizeof(failureText) - 1));
  }
  Messages messages;
  for (int peer = 0; peer < size; ++peer)
    if (peer != rank)
      messages.send(comm, peer, kFailureTag, text.data(), text.size());
  finishWithin(messages, absl::Milliseconds(500));
}

/// Gives messages a moment; whoever cannot listen is ended by the launcher.
void MpiWorld::finishWithin(Messages &messages, absl::Duration time) {
  for (absl::Time end = absl::Now() + time;
       absl::Now() < end && !wasTerminated;) {
    int done = 0;
    MPI_Testall(static_cast<int>(messages.requests.size()),
                messages.requests.data(), &done, MPI_STATUSES_IGNORE);
    if (done)
      break;
    absl::SleepFor(absl::Microseconds(100));
  }
}

void MpiWorld::depart() {
  farewells.resize(size);
  Messages messages;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank)
      continue;
    messages.receive(comm, peer, kDepartureTag, &farewells[peer], 1);
    messages.send(comm, peer, kDepartureTag, &farewells[rank], 1);
  }
  finishWithin(messages, absl::Seconds(2));
}

absl::Status MpiWorld::receiveFailure() {
  if (failureRequest == MPI_REQUEST_NULL)
    return absl::OkStatus();
  int done = 0;
  MPI_Status status;
  MPI_Test(&failureRequest, &done, &status);
  if (!done)
    return absl::OkStatus();
  absl::MutexLock lock(&mutex);
  if (failure.ok())
    failure = makeError(ErrorCode::PeerFailed, "rank ", status.MPI_SOURCE,
                        " failed: ", failureText);
  return failure;
}

absl::Status MpiWorld::check() {
  return addContext(findFailure(), absl::StrCat("rank ", rank));
}

absl::Status MpiWorld::findFailure() {
  TPRT_RETURN_IF_ERROR(receiveFailure());
  absl::Status known;
  {
    absl::MutexLock lock(&mutex);
    known = failure;
  }
  if (!known.ok()) {
    tellFailure();
    return known;
  }
  if (!wasTerminated)
    return absl::OkStatus();
  // A rank that failed in good order has said so before the launcher acted.
  for (absl::Time end = absl::Now() + absl::Milliseconds(200);
       absl::Now() < end; sched_yield())
    TPRT_RETURN_IF_ERROR(receiveFailure());
  return makeError(ErrorCode::PeerFailed,
                   "the launcher ended the job, as it does when a rank has "
                   "died; its message tells which");
}

template <typename What>
absl::Status MpiWorld::wait(Messages &messages, What what) {
  absl::Time deadline = absl::InfinitePast(); // set at the first slow wait
  for (int round = 0;; ++round) {
    int done = 0;
    int result =
        MPI_Testall(static_cast<int>(messages.requests.size()),
                    messages.requests.data(), &done, MPI_STATUSES_IGNORE);
    if (result != MPI_SUCCESS)
      return addContext(::check(result, "waiting"), getContext(what()));
    if (done)
      return absl::OkStatus();
    // A slow wait yields the core for who knows how long: it looks every time,
    // as the launcher gives a rank that it ends no more than a second.
    constexpr int fastRounds = 200;
    if (round % 64 == 0 || round >= fastRounds)
      if (absl::Status status = findFailure(); !status.ok())
        return addContext(status, getContext(what()));
    if (round < fastRounds)
      continue;
    sched_yield();
    absl::Time now = absl::Now();
    if (deadline == absl::InfinitePast())
      deadline = now + timeout;
    if (now < deadline)
      continue;
    std::vector<int> missing;
    for (size_t i = 0; i < messages.requests.size(); ++i) {
      int arrived = 1;
      if (messages.requests[i] != MPI_REQUEST_NULL)
        MPI_Request_get_status(messages.requests[i], &arrived,
                               MPI_STATUS_IGNORE);
      if (!arrived && messages.senders[i] >= 0 &&
          (missing.empty() || missing.back() != messages.senders[i]))
        missing.push_back(messages.senders[i]);
    }
    return makeError(ErrorCode::CollectiveTimeout, getContext(what()),
                     ": rank ", absl::StrJoin(missing, ", "),
                     " did not arrive within ", absl::FormatDuration(timeout),
                     "; a longer --timeout helps if it is only slow");
  }
}

absl::StatusOr<std::vector<std::string>>
MpiWorld::exchange(absl::string_view mine, absl::string_view what) {
  auto getWhat = [&] { return std::string(what); };
  std::vector<int64_t> sizes(size);
  sizes[rank] = static_cast<int64_t>(mine.size());
  auto exchangeOne = [&](auto getMine, auto getTheirs) {
    Messages messages;
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank)
        continue;
      auto [data, bytes] = getTheirs(peer);
      messages.receive(comm, peer, kExchangeTag, data, bytes);
      auto [ownData, ownBytes] = getMine();
      messages.send(comm, peer, kExchangeTag, ownData, ownBytes);
    }
    return wait(messages, getWhat);
  };
  constexpr int64_t word = sizeof(int64_t);
  TPRT_RETURN_IF_ERROR(exchangeOne(
      [&] {
        return std::make_pair(reinterpret_cast<const char *>(&sizes[rank]),
                              word);
      },
      [&](int peer) {
        return std::make_pair(reinterpret_cast<char *>(&sizes[peer]), word);
      }));
  std::vector<std::string> all(size);
  for (int peer = 0; peer < size; ++peer)
    all[peer].resize(sizes[peer]);
  all[rank].assign(mine.data(), mine.size());
  TPRT_RETURN_IF_ERROR(exchangeOne(
      [&] { return std::make_pair(mine.data(), sizes[rank]); },
      [&](int peer) { return std::make_pair(&all[peer][0], sizes[peer]); }));
  return all;
}

namespace {

class MpiCommunicator final : public Communicator {
public:
  MpiCommunicator(MpiWorld &world, std::vector<int> group, int tag)
      : world(world), group(std::move(group)), tag(tag) {
    position =
        std::find(this->group.begin(), this->group.end(), world.getRank()) -
        this->group.begin();
  }

  absl::Status start(uint32_t index, const CollectiveCall &call) override;
  absl::Status finish(uint32_t index) override;

private:
  struct Running {
    CollectiveCall call;
    uint32_t index;
    std::vector<uint32_t> theirIndices; ///< By position.
    std::vector<char> scratch;          ///< Others' parts of a reduction.
    Messages messages;
  };

  int64_t getSize() const { return static_cast<int64_t>(group.size()); }
  void send(Running &running, int64_t peer, const char *data, int64_t bytes) {
    running.messages.send(world.getComm(), group[peer], tag, data, bytes);
  }
  void receive(Running &running, int64_t peer, char *data, int64_t bytes) {
    running.messages.receive(world.getComm(), group[peer], tag, data, bytes);
  }
  static void copy(char *to, const char *from, int64_t bytes) {
    if (bytes > 0)
      std::memcpy(to, from, bytes);
  }

  /// Elements [begin(p), begin(p+1)) of a reduction are position p's to reduce.
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

absl::StatusOr<std::unique_ptr<Communicator>>
MpiWorld::split(const std::vector<int> &group) {
  return std::make_unique<MpiCommunicator>(*this, group,
                                           kFirstGroupTag + groups++);
}

absl::Status MpiCommunicator::start(uint32_t index,
                                    const CollectiveCall &call) {
  auto fresh = std::make_unique<Running>();
  Running &now = *fresh;
  now.call = call;
  now.index = index;
  now.theirIndices.assign(group.size(), index);
  running[index] = std::move(fresh);
  for (int64_t peer = 0; peer < getSize(); ++peer)
    if (peer != position) {
      receive(now, peer, reinterpret_cast<char *>(&now.theirIndices[peer]),
              sizeof(uint32_t));
      send(now, peer, reinterpret_cast<const char *>(&now.index),
           sizeof(uint32_t));
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
        copy(to, from, bytes);
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
      copy(call.destination, call.source, bytes);
    else if (from >= 0)
      receive(now, from, call.destination, bytes);
    else if (bytes > 0)
      std::memset(call.destination, 0, bytes);
    break;
  }
  return absl::OkStatus();
}

/// Each position gets everybody's elements of its part.
void MpiCommunicator::startReduction(Running &now) {
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

void MpiCommunicator::reduce(Running &now) {
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

/// Waits for the messages and compares the numbers that came with them.
absl::Status MpiCommunicator::wait(Running &now) {
  absl::Status status =
      world.wait(now.messages, [&] { return describe(now.call); });
  for (int64_t peer = 0; peer < getSize(); ++peer)
    if (now.theirIndices[peer] != now.index)
      return makeError(ErrorCode::CollectiveMismatch,
                       world.getContext(describe(now.call)),
                       ", collective number ", now.index, ": rank ",
                       group[peer], " is at number ", now.theirIndices[peer]);
  now.messages = Messages();
  return status;
}

absl::Status MpiCommunicator::finish(uint32_t index) {
  std::unique_ptr<Running> now = std::move(running[index]);
  running.erase(index);
  absl::Status status = wait(*now);
  if (!status.ok()) {
    // MPI may still write into the messages' memory: it is given up.
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
  for (int64_t peer = 0; peer < getSize(); ++peer) {
    if (peer == position)
      continue;
    int64_t theirs = getBegin(row, peer) * size;
    receive(*now, peer, to + theirs, getBegin(row, peer + 1) * size - theirs);
    send(*now, peer, to + begin, end - begin);
  }
  status = wait(*now);
  if (!status.ok())
    now.release();
  return status;
}

static absl::StatusOr<std::unique_ptr<World>>
createWorld(absl::Duration timeout) {
  int isRunning = 0, hasEnded = 0;
  MPI_Initialized(&isRunning);
  MPI_Finalized(&hasEnded);
  if (hasEnded)
    return makeError(ErrorCode::Transport,
                     "MPI has been ended in this process and cannot start "
                     "again");
  if (!isRunning) {
    int provided = 0;
    TPRT_RETURN_IF_ERROR(
        check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided),
              "init"));
    // Only where nobody else cares for the signal.
    struct sigaction now = {};
    if (sigaction(SIGTERM, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
      struct sigaction ours = {};
      ours.sa_handler = onTerminate;
      sigaction(SIGTERM, &ours, nullptr);
    }
  }
  auto world = std::make_unique<MpiWorld>(timeout, !isRunning);
  TPRT_RETURN_IF_ERROR(world->connect());
  return world;
}

extern "C" const Plugin *tprtGetPlugin() {
  static const Plugin plugin{kPluginVersion, nullptr, createWorld};
  return &plugin;
}
