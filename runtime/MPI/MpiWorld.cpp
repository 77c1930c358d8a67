// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Ranks that are processes started by mpirun, on one or several hosts.
///
/// A group whose ranks are all on one host uses shared memory, see
/// SharedCommunicator.h. Any other group sends messages, see
/// MessageCommunicator.cpp.
///
/// MPI_Init and MPI_Finalize wait for all ranks and have no deadline, so each
/// is called in its own function, whose caller limits the time. Every other MPI
/// call here returns at once. Threads take turns in calling MPI, so
/// MPI_THREAD_SERIALIZED is requested.

#include "runtime/MPI/MpiWorld.h"

#include "runtime/Core/Backend.h"
#include "runtime/MPI/SharedCommunicator.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <sched.h>

using namespace tprt;

namespace {

constexpr int kExchangeTag = 0;
constexpr int kFailureTag = 1;
constexpr int kDepartureTag = 2;
constexpr int kLifeTag = 3;
constexpr int kFirstGroupTag = 4;
constexpr char kLifeSign = 1;
/// Between steps, MPI is asked for failures no more often than this.
constexpr absl::Duration kLookEvery = absl::Milliseconds(1);

/// Set when the launcher ends the job, as it does when a rank has died.
volatile std::sig_atomic_t wasTerminated = 0;
void onTerminate(int) { wasTerminated = 1; }

} // namespace

thread_local const MpiWorld *MpiWorld::entered = nullptr;

absl::Status tprt::checkMpi(int result, absl::string_view what) {
  if (result == MPI_SUCCESS)
    return absl::OkStatus();
  // Before MPI is initialized and after it is finalized, MPI_Error_string would
  // end the process.
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

/// Waits for all ranks. After that, MPI_Finalize does not wait for late ranks,
/// but only exchanges its own messages.
absl::Status MpiWorld::part() {
  if (!owned)
    return absl::OkStatus();
  return exchange("", "ending the job").status();
}

/// After a failure, this is not called, because other ranks might never call
/// it. If a rank exits without calling it, the launcher ends the other ranks.
absl::Status MpiWorld::finalize() {
  if (failureRequest != MPI_REQUEST_NULL) {
    TPRT_RETURN_IF_ERROR(checkMpi(MPI_Cancel(&failureRequest), "cancelling"));
    TPRT_RETURN_IF_ERROR(
        checkMpi(MPI_Wait(&failureRequest, MPI_STATUS_IGNORE), "cancelling"));
  }
  if (comm != MPI_COMM_NULL)
    TPRT_RETURN_IF_ERROR(checkMpi(MPI_Comm_free(&comm), "leaving the job"));
  return owned ? checkMpi(MPI_Finalize(), "finalizing") : absl::OkStatus();
}

absl::Status MpiWorld::connect() {
  TPRT_RETURN_IF_ERROR(checkMpi(
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "joining"));
  // Our messages must not mix with those of an embedding program.
  Messages messages;
  messages.requests.emplace_back();
  messages.senders.push_back(-1);
  TPRT_RETURN_IF_ERROR(checkMpi(
      MPI_Comm_idup(MPI_COMM_WORLD, &comm, &messages.requests[0]), "idup"));
  TPRT_RETURN_IF_ERROR(wait(messages, [] { return "joining the job"; }));
  TPRT_RETURN_IF_ERROR(
      checkMpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "joining"));
  TPRT_RETURN_IF_ERROR(
      checkMpi(MPI_Irecv(failureText, sizeof(failureText) - 1, MPI_BYTE,
                         MPI_ANY_SOURCE, kFailureTag, comm, &failureRequest),
               "receiving"));
  return meetHosts();
}

/// An embedding program may have initialized MPI with a lower thread level.
absl::Status MpiWorld::allowThreads() {
  int provided = 0;
  TPRT_RETURN_IF_ERROR(checkMpi(MPI_Query_thread(&provided), "threads"));
  if (provided >= MPI_THREAD_SERIALIZED)
    return absl::OkStatus();
  return makeError(
      ErrorCode::Transport, "rank ", rank,
      ": MPI was initialized for one thread only, but collectives that overlap "
      "with computing use a second thread; initialize MPI by MPI_Init_thread "
      "with MPI_THREAD_SERIALIZED");
}

/// Finds out whether ranks of one host are bound to cores of their own or share
/// them.
absl::Status MpiWorld::meetHosts() {
  char host[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  TPRT_RETURN_IF_ERROR(
      checkMpi(MPI_Get_processor_name(host, &length), "naming the host"));
  cpu_set_t mine = getUsableCores();
  std::string text(reinterpret_cast<const char *>(&mine), sizeof(mine));
  text.append(host, length);
  TPRT_ASSIGN_OR_RETURN(std::vector<std::string> all,
                        exchange(text, "counting cores"));
  cpu_set_t cores;
  CPU_ZERO(&cores);
  int ranks = 0;
  for (const std::string &theirs : all) {
    hosts.push_back(theirs.substr(std::min(theirs.size(), sizeof(mine))));
    if (hosts.back() != host)
      continue;
    cpu_set_t usable;
    std::memcpy(&usable, theirs.data(), sizeof(usable));
    CPU_OR(&cores, &cores, &usable);
    ++ranks;
  }
  coresPerRank = std::min(CPU_COUNT(&mine), CPU_COUNT(&cores) / ranks);
  return absl::OkStatus();
}

bool MpiWorld::isOneHost(const std::vector<int> &ranks) const {
  return absl::c_all_of(ranks,
                        [&](int peer) { return hosts[peer] == hosts[rank]; });
}

std::string MpiWorld::getContext(absl::string_view what) const {
  return absl::StrCat("rank ", rank, ", ", what);
}

absl::Status MpiWorld::compare(CollectiveHeader ours, CollectiveHeader theirs,
                               int peer, const CollectiveCall &call) const {
  auto fail = [&](ErrorCode code, auto... why) {
    return makeError(code, getContext(describe(call)), ": rank ", peer, why...);
  };
  if (theirs.runDigest != ours.runDigest)
    return fail(ErrorCode::RanksDisagree,
                " was given different options or inputs for this run, or makes "
                "different calls");
  if (theirs.index != ours.index)
    return fail(ErrorCode::CollectiveMismatch, " is at collective number ",
                theirs.index, ", but this rank is at number ", ours.index);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Communicator>>
MpiWorld::split(const std::vector<int> &group) {
  // Every split uses a new tag, as the ranks of a group may also be in other
  // groups.
  int tag = kFirstGroupTag + splits++;
  TPRT_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> shared,
                        makeSharedCommunicator(*this, group));
  if (shared)
    return shared;
  return makeMessageCommunicator(*this, group, tag);
}

void MpiWorld::fail(const absl::Status &cause) {
  {
    absl::MutexLock lock(&mutex);
    if (failure.ok())
      failure = cause;
  }
  if (entered == this)
    tellFailure(); // otherwise a thread that uses MPI does
}

/// Sends the failure to all others, unless it came from one of them.
void MpiWorld::tellFailure() {
  {
    absl::MutexLock lock(&mutex);
    if (hasTold)
      return;
    hasTold = true;
    if (getErrorCode(failure) == ErrorCode::PeerFailed)
      return;
    toldText =
        std::string(failure.message().substr(0, sizeof(failureText) - 1));
  }
  Messages messages;
  {
    absl::MutexLock lock(&turn);
    for (int peer = 0; peer < size; ++peer)
      if (peer != rank)
        messages.send(comm, peer, kFailureTag, toldText.data(),
                      toldText.size());
  }
  finishWithin(messages, absl::Milliseconds(500));
}

/// Waits for messages to be delivered, but not longer than `time`. If a peer
/// cannot receive its message, the launcher ends that peer.
void MpiWorld::finishWithin(Messages &messages, absl::Duration time) {
  for (absl::Time end = absl::Now() + time;
       absl::Now() < end && !wasTerminated;) {
    int done = 0, result = MPI_SUCCESS;
    {
      absl::MutexLock lock(&turn);
      result =
          MPI_Testall(static_cast<int>(messages.requests.size()),
                      messages.requests.data(), &done, MPI_STATUSES_IGNORE);
    }
    if (done || result != MPI_SUCCESS)
      break; // the launcher ends a peer that cannot be told
    absl::SleepFor(absl::Microseconds(100));
  }
}

void MpiWorld::depart() {
  farewells.resize(size);
  Messages messages;
  {
    absl::MutexLock lock(&turn);
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank)
        continue;
      messages.receive(comm, peer, kDepartureTag, &farewells[peer], 1);
      messages.send(comm, peer, kDepartureTag, &farewells[rank], 1);
    }
  }
  finishWithin(messages, absl::Seconds(2));
}

absl::Status MpiWorld::receiveFailure() {
  absl::MutexLock theTurn(&turn);
  if (failureRequest == MPI_REQUEST_NULL)
    return absl::OkStatus();
  int done = 0;
  MPI_Status status;
  TPRT_RETURN_IF_ERROR(checkMpi(MPI_Test(&failureRequest, &done, &status),
                                "receiving failures"));
  if (!done)
    return absl::OkStatus();
  absl::MutexLock lock(&mutex);
  if (failure.ok())
    failure = makeError(ErrorCode::PeerFailed, "rank ", status.MPI_SOURCE,
                        " failed: ", failureText);
  return failure;
}

absl::Status MpiWorld::check() {
  if (!wasTerminated && messagesUnderWay == 0) {
    absl::Time now = absl::Now();
    absl::MutexLock lock(&mutex);
    if (now < lastLook + kLookEvery)
      return absl::OkStatus();
    lastLook = now;
  }
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
  // Wait for the message of the failed rank: unless the rank died, it sent one
  // before the launcher ended the job.
  // Another thread of this rank may receive it.
  for (absl::Time end = absl::Now() + absl::Milliseconds(200);
       absl::Now() < end; sched_yield()) {
    TPRT_RETURN_IF_ERROR(receiveFailure());
    absl::MutexLock lock(&mutex);
    TPRT_RETURN_IF_ERROR(failure);
  }
  return makeError(ErrorCode::PeerFailed,
                   "the launcher ended the job, as it does when a rank has "
                   "died; its own message names that rank");
}

/// Sleeps for a time that grows with the time waited so far. Only called in
/// long waits: a message does not wake a sleeping rank, so sleeping costs more
/// than yielding, even if there are more ranks than cores.
static void rest(absl::Duration waited) {
  absl::SleepFor(std::min(waited / 8, absl::Milliseconds(1)));
}

/// Returns the ranks whose messages have not arrived.
static absl::StatusOr<std::vector<int>>
getMissingSenders(const Messages &messages) {
  std::vector<int> missing;
  for (size_t i = 0; i < messages.requests.size(); ++i) {
    int arrived = 1;
    if (messages.requests[i] != MPI_REQUEST_NULL)
      TPRT_RETURN_IF_ERROR(
          checkMpi(MPI_Request_get_status(messages.requests[i], &arrived,
                                          MPI_STATUS_IGNORE),
                   "asking which ranks are missing"));
    if (!arrived && messages.senders[i] >= 0 &&
        !absl::c_linear_search(missing, messages.senders[i]))
      missing.push_back(messages.senders[i]);
  }
  return missing;
}

absl::Status MpiWorld::wait(Messages &messages,
                            absl::FunctionRef<std::string()> what) {
  auto getMissing = [&] {
    absl::MutexLock lock(&turn);
    return getMissingSenders(messages);
  };
  PeerWait peers(*this, what, getMissing);
  for (int look = 0;; ++look) {
    int done = 0;
    {
      absl::MutexLock lock(&turn);
      int result = messages.result;
      if (result == MPI_SUCCESS)
        result =
            MPI_Testall(static_cast<int>(messages.requests.size()),
                        messages.requests.data(), &done, MPI_STATUSES_IGNORE);
      if (result != MPI_SUCCESS)
        return addContext(checkMpi(result, "sending and receiving"),
                          getContext(what()));
    }
    if (done)
      return absl::OkStatus();
    if (look < kFastLooks && look % 64 != 0)
      continue;
    // In a long wait, this thread may lose its core for any length of time, so
    // check in every round: the launcher kills a rank no later than a second
    // after SIGTERM.
    TPRT_RETURN_IF_ERROR(peers.check());
    if (look < kFastLooks)
      continue;
    if (peers.getWaited() < absl::FromChrono(kSpinTime))
      sched_yield();
    else
      rest(peers.getWaited());
  }
}

absl::Status PeerWait::check() {
  absl::Status status = world.findFailure();
  now = absl::Now();
  if (begin == absl::Time()) {
    begin = now;
    deadline = now + world.getTimeout();
  }
  if (status.ok() && now >= deadline) {
    status = checkMissing();
    deadline = now + world.getTimeout();
  }
  return status.ok() ? status : addContext(status, world.getContext(what()));
}

absl::Status PeerWait::checkMissing() {
  TPRT_ASSIGN_OR_RETURN(std::vector<int> missing, getMissing());
  TPRT_ASSIGN_OR_RETURN(bool isAlive, world.receiveSignsOfLife(missing));
  if (isAlive)
    return absl::OkStatus();
  return makeError(
      ErrorCode::CollectiveTimeout,
      missing.empty() ? std::string("another rank")
                      : absl::StrCat("rank ", absl::StrJoin(missing, ", ")),
      " did not arrive within ", absl::FormatDuration(world.getTimeout()),
      "; a longer --timeout helps if it is only slow");
}

void MpiWorld::showLife() {
  // One message per third of the timeout is enough for the ranks that wait.
  if (absl::Now() < lastLife + timeout / 3)
    return;
  lastLife = absl::Now();
  absl::MutexLock lock(&turn);
  lifeSigns.dropDelivered();
  for (int peer = 0; peer < size; ++peer)
    if (peer != rank)
      lifeSigns.send(comm, peer, kLifeTag, &kLifeSign, 1);
}

/// Receives all messages of `showLife` that have arrived. Another thread of
/// this rank may have received those that this one asks for.
absl::StatusOr<bool>
MpiWorld::receiveSignsOfLife(const std::vector<int> &ranks) {
  absl::MutexLock lock(&turn);
  lastSigns.resize(size, absl::InfinitePast());
  for (;;) {
    int has = 0;
    MPI_Status status;
    TPRT_RETURN_IF_ERROR(
        checkMpi(MPI_Iprobe(MPI_ANY_SOURCE, kLifeTag, comm, &has, &status),
                 "checking which ranks are alive"));
    if (!has)
      break;
    char byte;
    TPRT_RETURN_IF_ERROR(
        checkMpi(MPI_Recv(&byte, 1, MPI_BYTE, status.MPI_SOURCE, kLifeTag, comm,
                          MPI_STATUS_IGNORE),
                 "checking which ranks are alive"));
    lastSigns[status.MPI_SOURCE] = absl::Now();
  }
  return absl::c_any_of(
      ranks, [&](int peer) { return lastSigns[peer] + timeout > absl::Now(); });
}

/// An exchange under way: MPI reads and writes all of this.
struct tprt::Exchange {
  struct Header {
    int64_t size;
    char what[56]; ///< Starts with the occasion's name; zero-terminated.
  };
  std::vector<Header> headers; ///< Indexed by rank, as are the bytes.
  std::vector<std::string> all;
  Messages messages;
};

absl::StatusOr<std::vector<std::string>>
MpiWorld::exchange(absl::string_view mine, absl::string_view what) {
  auto now = std::make_unique<Exchange>();
  absl::Status status = exchange(*now, mine, what);
  if (status.ok())
    return std::move(now->all);
  // MPI may still write into this memory, so it is never freed.
  now.release();
  return status;
}

absl::Status MpiWorld::exchange(Exchange &now, absl::string_view mine,
                                absl::string_view what) {
  using Header = Exchange::Header;
  auto swap = [&](auto getBytes) {
    now.messages = Messages();
    {
      absl::MutexLock lock(&turn);
      for (int peer = 0; peer < size; ++peer) {
        if (peer == rank)
          continue;
        auto [theirs, theirSize] = getBytes(peer);
        now.messages.receive(comm, peer, kExchangeTag, theirs, theirSize);
        auto [ours, ourSize] = getBytes(rank);
        now.messages.send(comm, peer, kExchangeTag, ours, ourSize);
      }
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

static absl::StatusOr<std::unique_ptr<World>>
createWorld(absl::Duration timeout) {
  int isRunning = 0, hasEnded = 0;
  TPRT_RETURN_IF_ERROR(checkMpi(MPI_Initialized(&isRunning), "initialized"));
  TPRT_RETURN_IF_ERROR(checkMpi(MPI_Finalized(&hasEnded), "finalized"));
  if (hasEnded)
    return makeError(ErrorCode::Transport,
                     "MPI has already been finalized in this process and "
                     "cannot start again");
  if (!isRunning) {
    int provided = 0;
    TPRT_RETURN_IF_ERROR(checkMpi(
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided),
        "init"));
    // Installs our handler only if no other is installed for the signal.
    struct sigaction now = {};
    if (sigaction(SIGTERM, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
      struct sigaction ours = {};
      ours.sa_handler = onTerminate;
      sigaction(SIGTERM, &ours, nullptr);
    }
  }
  int rank = 0, size = 1;
  TPRT_RETURN_IF_ERROR(checkMpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "rank"));
  TPRT_RETURN_IF_ERROR(checkMpi(MPI_Comm_size(MPI_COMM_WORLD, &size), "size"));
  return std::make_unique<MpiWorld>(timeout, !isRunning, rank, size);
}

extern "C" const Plugin *tprtGetPlugin() {
  static const Plugin plugin{kPluginVersion, nullptr, createWorld};
  return &plugin;
}
