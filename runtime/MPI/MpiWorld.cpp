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
/// Each message of a collective is preceded by the number of the collective and
/// a digest of what the run depends on, so that ranks which have lost step, or
/// were given something else, find out at once. A communicator is a tag: the
/// messages of a pair stay in order, and all ranks run the same step table.
///
/// MPI_Init and MPI_Finalize wait for all ranks and know no deadline: each is
/// in a call of its own, and whoever makes that call watches the time.
/// Everything else of MPI that is used here returns at once.

#include "runtime/Communicators/Reduce.h"
#include "runtime/Core/AlignedBuffer.h"
#include "runtime/Core/Backend.h"

#include "absl/algorithm/container.h"
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
constexpr int kLifeTag = 3;
constexpr int kFirstGroupTag = 4;
constexpr char kLifeSign = 1;
/// MPI counts in int: larger messages go in pieces of this many bytes.
constexpr int64_t kPiece = int64_t{1} << 30;

/// Set when the launcher ends the job, which it does when a rank has died.
volatile std::sig_atomic_t wasTerminated = 0;
void onTerminate(int) { wasTerminated = 1; }

} // namespace

static absl::Status check(int result, absl::string_view what) {
  if (result == MPI_SUCCESS)
    return absl::OkStatus();
  // Before MPI has begun and after it has ended, asking for the text would end
  // the process.
  int hasBegun = 0, hasEnded = 0;
  MPI_Initialized(&hasBegun);
  MPI_Finalized(&hasEnded);
  if (!hasBegun || hasEnded)
    return makeError(ErrorCode::Transport, "MPI: ", what, ": error ", result);
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
  int result = MPI_SUCCESS; ///< Of the first that could not be begun.

  void send(MPI_Comm comm, int to, int tag, const char *data, int64_t bytes) {
    for (int64_t at = 0; at == 0 || at < bytes; at += kPiece)
      begin(-1, MPI_Isend(data + at, getPiece(bytes, at), MPI_BYTE, to, tag,
                          comm, add()));
  }
  void receive(MPI_Comm comm, int from, int tag, char *data, int64_t bytes) {
    for (int64_t at = 0; at == 0 || at < bytes; at += kPiece)
      begin(from, MPI_Irecv(data + at, getPiece(bytes, at), MPI_BYTE, from, tag,
                            comm, add()));
  }

private:
  static int getPiece(int64_t bytes, int64_t at) {
    return static_cast<int>(std::min(kPiece, bytes - at));
  }
  MPI_Request *add() {
    requests.push_back(MPI_REQUEST_NULL);
    return &requests.back();
  }
  void begin(int sender, int code) {
    senders.push_back(sender);
    if (code == MPI_SUCCESS)
      return;
    // What a failed call leaves in its request is not defined.
    requests.back() = MPI_REQUEST_NULL;
    if (result == MPI_SUCCESS)
      result = code;
  }
};

struct Exchange;

class MpiWorld final : public World {
public:
  MpiWorld(absl::Duration timeout, bool owned, int rank, int size)
      : timeout(timeout), owned(owned), thread(std::this_thread::get_id()),
        rank(rank), size(size) {}

  absl::Status connect() override;

  int getRank() const override { return rank; }
  int getSize() const override { return size; }
  int getCoresPerRank() const override { return coresPerRank; }
  MPI_Comm getComm() const { return comm; }

  absl::StatusOr<std::unique_ptr<Communicator>>
  split(const std::vector<int> &group) override;
  absl::StatusOr<std::vector<std::string>>
  exchange(absl::string_view mine, absl::string_view what) override;
  void fail(const absl::Status &cause) override;
  absl::Status check() override;
  void depart() override;
  void setRunDigest(uint32_t digest) override { runDigest = digest; }
  uint32_t getRunDigest() const { return runDigest; }
  void showLife() override;
  absl::Status part() override;
  absl::Status finalize() override;

  /// Waits for all messages; `what()` names the occasion.
  template <typename What> absl::Status wait(Messages &messages, What what);

  std::string getContext(absl::string_view what) const {
    return absl::StrCat("rank ", rank, ", ", what);
  }

private:
  absl::Status countCores();
  absl::Status exchange(Exchange &now, absl::string_view mine,
                        absl::string_view what);
  /// `check` without saying which rank this is.
  absl::Status findFailure();
  absl::Status receiveFailure();
  void tellFailure();
  absl::StatusOr<bool> receiveSignsOfLife(const std::vector<int> &ranks);
  absl::Status reportMissing(const Messages &messages,
                             absl::string_view context, bool &goesOn);
  static void finishWithin(Messages &messages, absl::Duration time);

  const absl::Duration timeout;
  const bool owned; ///< MPI was started here and is ended here.
  const std::thread::id thread;
  MPI_Comm comm = MPI_COMM_NULL;
  const int rank, size;
  int coresPerRank = 1;
  uint32_t runDigest = 0;
  Messages lifeSigns; ///< Nobody waits for them.
  absl::Time lastLife = absl::InfinitePast();
  int groups = 0;
  MPI_Request failureRequest = MPI_REQUEST_NULL;
  char failureText[1024] = {};
  std::vector<char> farewells; ///< By rank; MPI may write here to the end.
  absl::Mutex mutex;
  absl::Status failure ABSL_GUARDED_BY(mutex);
  bool hasTold = false;
};

} // namespace

/// With nobody missing, finalizing takes no longer than its own messages.
absl::Status MpiWorld::part() {
  if (!owned)
    return absl::OkStatus();
  return exchange("", "ending the job").status();
}

/// After a failure nobody calls this, as the others may never come to theirs:
/// leaving without it makes the launcher end them.
absl::Status MpiWorld::finalize() {
  if (failureRequest != MPI_REQUEST_NULL) {
    TPRT_RETURN_IF_ERROR(::check(MPI_Cancel(&failureRequest), "cancelling"));
    TPRT_RETURN_IF_ERROR(
        ::check(MPI_Wait(&failureRequest, MPI_STATUS_IGNORE), "cancelling"));
  }
  if (comm != MPI_COMM_NULL)
    TPRT_RETURN_IF_ERROR(::check(MPI_Comm_free(&comm), "leaving the job"));
  return owned ? ::check(MPI_Finalize(), "finalizing") : absl::OkStatus();
}

absl::Status MpiWorld::connect() {
  TPRT_RETURN_IF_ERROR(::check(
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "joining"));
  // Our own messages shall not meet the embedding program's.
  Messages messages;
  messages.requests.emplace_back();
  messages.senders.push_back(-1);
  TPRT_RETURN_IF_ERROR(::check(
      MPI_Comm_idup(MPI_COMM_WORLD, &comm, &messages.requests[0]), "idup"));
  TPRT_RETURN_IF_ERROR(wait(messages, [] { return "joining the job"; }));
  TPRT_RETURN_IF_ERROR(
      ::check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "joining"));
  TPRT_RETURN_IF_ERROR(
      ::check(MPI_Irecv(failureText, sizeof(failureText) - 1, MPI_BYTE,
                        MPI_ANY_SOURCE, kFailureTag, comm, &failureRequest),
              "receiving"));
  return countCores();
}

/// Ranks of one host may be bound to cores of their own or share them.
absl::Status MpiWorld::countCores() {
  char host[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  TPRT_RETURN_IF_ERROR(
      ::check(MPI_Get_processor_name(host, &length), "naming the host"));
  cpu_set_t mine = getUsableCores();
  std::string text(reinterpret_cast<const char *>(&mine), sizeof(mine));
  text.append(host, length);
  TPRT_ASSIGN_OR_RETURN(std::vector<std::string> all,
                        exchange(text, "counting cores"));
  cpu_set_t cores;
  CPU_ZERO(&cores);
  int ranks = 0;
  for (const std::string &theirs : all) {
    if (theirs.size() != text.size() ||
        theirs.compare(sizeof(mine), std::string::npos, host) != 0)
      continue;
    cpu_set_t usable;
    std::memcpy(&usable, theirs.data(), sizeof(usable));
    CPU_OR(&cores, &cores, &usable);
    ++ranks;
  }
  coresPerRank = std::min(CPU_COUNT(&mine), CPU_COUNT(&cores) / ranks);
  return absl::OkStatus();
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
    int result =
        MPI_Testall(static_cast<int>(messages.requests.size()),
                    messages.requests.data(), &done, MPI_STATUSES_IGNORE);
    if (done || result != MPI_SUCCESS)
      break; // a peer that cannot be told is ended by the launcher, too
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
  TPRT_RETURN_IF_ERROR(
      ::check(MPI_Test(&failureRequest, &done, &status), "receiving failures"));
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

/// Sleeps, the longer the more it has waited. Only after a while: nothing wakes
/// a sleeper when its message comes, and that costs more than yields, even
/// where there are more ranks than cores.
static void rest(absl::Duration waited) {
  absl::SleepFor(std::min(waited / 8, absl::Milliseconds(1)));
}

template <typename What>
absl::Status MpiWorld::wait(Messages &messages, What what) {
  constexpr int fastRounds = 200;
  absl::Time begin, deadline; // set at the first slow round
  for (int round = 0;; ++round) {
    int done = 0;
    int result = messages.result;
    if (result == MPI_SUCCESS)
      result =
          MPI_Testall(static_cast<int>(messages.requests.size()),
                      messages.requests.data(), &done, MPI_STATUSES_IGNORE);
    if (result != MPI_SUCCESS)
      return addContext(::check(result, "sending and receiving"),
                        getContext(what()));
    if (done)
      return absl::OkStatus();
    bool isFast = round < fastRounds;
    // A slow wait gives up the core for who knows how long: it looks every
    // time, as the launcher gives a rank that it ends no more than a second.
    if (round % 64 == 0 || !isFast)
      if (absl::Status status = findFailure(); !status.ok())
        return addContext(status, getContext(what()));
    if (isFast)
      continue;
    absl::Time now = absl::Now();
    if (begin == absl::Time()) {
      begin = now;
      deadline = now + timeout;
    }
    if (now >= deadline) {
      bool goesOn = false;
      absl::Status status = reportMissing(messages, getContext(what()), goesOn);
      if (!goesOn)
        return status;
      deadline = now + timeout;
    }
    if (now - begin < absl::FromChrono(kSpinTime))
      sched_yield();
    else
      rest(now - begin);
  }
}

/// Who has not come by the deadline. It goes on if one of them has shown life.
absl::Status MpiWorld::reportMissing(const Messages &messages,
                                     absl::string_view context, bool &goesOn) {
  std::vector<int> missing;
  for (size_t i = 0; i < messages.requests.size(); ++i) {
    int arrived = 1;
    if (messages.requests[i] != MPI_REQUEST_NULL)
      TPRT_RETURN_IF_ERROR(
          ::check(MPI_Request_get_status(messages.requests[i], &arrived,
                                         MPI_STATUS_IGNORE),
                  "asking who is missing"));
    if (!arrived && messages.senders[i] >= 0 &&
        !absl::c_linear_search(missing, messages.senders[i]))
      missing.push_back(messages.senders[i]);
  }
  TPRT_ASSIGN_OR_RETURN(goesOn, receiveSignsOfLife(missing));
  return makeError(ErrorCode::CollectiveTimeout, context, ": ",
                   missing.empty()
                       ? std::string("another rank")
                       : absl::StrCat("rank ", absl::StrJoin(missing, ", ")),
                   " did not arrive within ", absl::FormatDuration(timeout),
                   "; a longer --timeout helps if it is only slow");
}

void MpiWorld::showLife() {
  // Once or twice within the time that others wait.
  if (absl::Now() < lastLife + timeout / 3)
    return;
  lastLife = absl::Now();
  for (int peer = 0; peer < size; ++peer)
    if (peer != rank)
      lifeSigns.send(comm, peer, kLifeTag, &kLifeSign, 1);
}

/// Takes what has come since the last time; whether any is of these ranks.
absl::StatusOr<bool>
MpiWorld::receiveSignsOfLife(const std::vector<int> &ranks) {
  for (bool isAlive = false;;) {
    int has = 0;
    MPI_Status status;
    TPRT_RETURN_IF_ERROR(
        ::check(MPI_Iprobe(MPI_ANY_SOURCE, kLifeTag, comm, &has, &status),
                "looking for signs of life"));
    if (!has)
      return isAlive;
    char byte;
    TPRT_RETURN_IF_ERROR(::check(MPI_Recv(&byte, 1, MPI_BYTE, status.MPI_SOURCE,
                                          kLifeTag, comm, MPI_STATUS_IGNORE),
                                 "receiving signs of life"));
    isAlive |= absl::c_linear_search(ranks, status.MPI_SOURCE);
  }
}

namespace {

/// An exchange under way: MPI reads and writes all of this.
struct Exchange {
  struct Header {
    int64_t size;
    char what[56]; ///< Begins as the occasion is called; ends with a zero.
  };
  std::vector<Header> headers; ///< By rank, as the bytes.
  std::vector<std::string> all;
  Messages messages;
};

} // namespace

absl::StatusOr<std::vector<std::string>>
MpiWorld::exchange(absl::string_view mine, absl::string_view what) {
  auto now = std::make_unique<Exchange>();
  absl::Status status = exchange(*now, mine, what);
  if (status.ok())
    return std::move(now->all);
  // MPI may still write into it: it is given up.
  now.release();
  return status;
}

absl::Status MpiWorld::exchange(Exchange &now, absl::string_view mine,
                                absl::string_view what) {
  using Header = Exchange::Header;
  auto swap = [&](auto getBytes) {
    now.messages = Messages();
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank)
        continue;
      auto [theirs, theirSize] = getBytes(peer);
      now.messages.receive(comm, peer, kExchangeTag, theirs, theirSize);
      auto [ours, ourSize] = getBytes(rank);
      now.messages.send(comm, peer, kExchangeTag, ours, ourSize);
    }
    return wait(now.messages, [&] { return std::string(what); });
  };
  now.headers.resize(size);
  now.headers[rank].size = static_cast<int64_t>(mine.size());
  what.copy(now.headers[rank].what, sizeof(Header::what) - 1);
  TPRT_RETURN_IF_ERROR(swap([&](int peer) {
    return std::make_pair(reinterpret_cast<char *>(&now.headers[peer]),
                          static_cast<int64_t>(sizeof(Header)));
  }));
  for (int peer = 0; peer < size; ++peer)
    if (absl::string_view(now.headers[peer].what) != now.headers[rank].what)
      return makeError(ErrorCode::CollectiveMismatch, getContext(what),
                       ": rank ", peer, " is at '", now.headers[peer].what,
                       "'; make the same calls on all ranks");
  now.all.resize(size);
  for (int peer = 0; peer < size; ++peer)
    now.all[peer].resize(now.headers[peer].size);
  now.all[rank].assign(mine.data(), mine.size());
  return swap([&](int peer) {
    return std::make_pair(&now.all[peer][0], now.headers[peer].size);
  });
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
  struct Header {
    uint32_t index, runDigest;
  };
  struct Running {
    CollectiveCall call;
    Header header;
    std::vector<Header> theirHeaders; ///< By position.
    std::vector<char> scratch;        ///< Others' parts of a reduction.
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
  now.header = {index, world.getRunDigest()};
  now.theirHeaders.assign(group.size(), now.header);
  running[index] = std::move(fresh);
  for (int64_t peer = 0; peer < getSize(); ++peer)
    if (peer != position) {
      receive(now, peer, reinterpret_cast<char *>(&now.theirHeaders[peer]),
              sizeof(Header));
      send(now, peer, reinterpret_cast<const char *>(&now.header),
           sizeof(Header));
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

/// Waits for the messages and compares what came before them.
absl::Status MpiCommunicator::wait(Running &now) {
  absl::Status status =
      world.wait(now.messages, [&] { return describe(now.call); });
  for (int64_t peer = 0; peer < getSize(); ++peer) {
    const Header &theirs = now.theirHeaders[peer];
    auto fail = [&](ErrorCode code, auto... why) {
      return makeError(code, world.getContext(describe(now.call)), ": rank ",
                       group[peer], why...);
    };
    if (theirs.runDigest != now.header.runDigest)
      return fail(ErrorCode::RanksDisagree,
                  " was not given the same for this run, or makes other calls");
    if (theirs.index != now.header.index)
      return fail(ErrorCode::CollectiveMismatch, " is at collective number ",
                  theirs.index, ", this one at number ", now.header.index);
  }
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
  TPRT_RETURN_IF_ERROR(check(MPI_Initialized(&isRunning), "initialized"));
  TPRT_RETURN_IF_ERROR(check(MPI_Finalized(&hasEnded), "finalized"));
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
  int rank = 0, size = 1;
  TPRT_RETURN_IF_ERROR(check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "rank"));
  TPRT_RETURN_IF_ERROR(check(MPI_Comm_size(MPI_COMM_WORLD, &size), "size"));
  return std::make_unique<MpiWorld>(timeout, !isRunning, rank, size);
}

extern "C" const Plugin *tprtGetPlugin() {
  static const Plugin plugin{kPluginVersion, nullptr, createWorld};
  return &plugin;
}
