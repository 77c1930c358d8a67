// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How the ranks of a session join the job, fail and leave.

#include "runtime/Communicators/ThreadWorld.h"
#include "runtime/Core/Session.h"

#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <cstdlib>

using namespace tprt;

absl::StatusOr<std::unique_ptr<Session>>
Session::open(const SessionOptions &options,
              std::shared_ptr<const Artifact> artifact) {
  auto session = std::make_unique<Session>(options, std::move(artifact));
  TPRT_RETURN_IF_ERROR(session->prepare());
  return session;
}

Session::~Session() { (void)close(); }

absl::Status Session::prepare() {
  int64_t devices = artifact->getNumDevices();
  if (options.ranks != 0 && options.ranks != devices)
    return makeError(ErrorCode::MeshMismatch, "--ranks=", options.ranks,
                     ", but the program was compiled for a mesh of ", devices,
                     " devices; leave --ranks out or compile it for ",
                     options.ranks);
  std::function<CreateBackend> createBackend = options.createBackend;
  if (!createBackend) {
    TPRT_ASSIGN_OR_RETURN(createBackend, loadBackend(options.backend));
  }
  TPRT_ASSIGN_OR_RETURN(
      backend, createBackend(artifact, {options.backend, options.timeout,
                                        options.allowTF32, options.network}));
  int local = 1;
  if (options.transport == "threads") {
    local = static_cast<int>(devices);
    domain = std::make_shared<ThreadDomain>(local, options.timeout);
  } else {
    TPRT_ASSIGN_OR_RETURN(createWorld, loadTransport(options.transport));
  }
  isBound.resize(artifact->rows<InputRow>().size());
  for (size_t i = 0; i < isBound.size(); ++i)
    isBound[i] = artifact->isKept(i);
  ranks.resize(local);
  for (int i = 0; i < local; ++i)
    ranks[i].number = i;
  threads = std::make_unique<RankThreads>(local);
  TPRT_RETURN_IF_ERROR(threads->getStatus());
  startRanks([this](Rank &rank) { return connectRank(rank); });
  TPRT_RETURN_IF_ERROR(awaitTransport("joining the job"));
  startRanks([this](Rank &rank) { return prepareRank(rank); });
  threads->wait();
  TPRT_RETURN_IF_ERROR(finishRanks());
  const World &world = *ranks.front().world;
  worldSize = world.getSize();
  if (world.getCoresPerRank() > 0)
    threads->letSpin();
  return absl::OkStatus();
}

absl::Status Session::connectRank(Rank &rank) {
  if (domain) {
    rank.world = makeThreadWorld(domain, rank.number);
    return absl::OkStatus();
  }
  TPRT_ASSIGN_OR_RETURN(rank.world, createWorld(options.timeout));
  rank.number = rank.world->getRank();
  return absl::OkStatus();
}

absl::Status Session::prepareRank(Rank &rank) {
  TPRT_RETURN_IF_ERROR(rank.world->connect());
  TPRT_RETURN_IF_ERROR(compareProgram(*rank.world));
  if (!domain) {
    // The backend and TF32 affect which code runs, and how it rounds.
    agreement.note("the backend", options.backend);
    agreement.note("tf32", options.allowTF32 ? "allowed" : "not allowed");
    TPRT_RETURN_IF_ERROR(agreement.compare(*rank.world));
  }
  TPRT_ASSIGN_OR_RETURN(rank.executor,
                        backend->createExecutor(*rank.world, getNumThreads()));
  return absl::OkStatus();
}

/// Returns the rank of this process as reported by its launcher, since the
/// transport may not know it yet, or no longer.
static std::string describeLaunched() {
  auto find = [](std::initializer_list<const char *> names) {
    for (const char *name : names)
      if (const char *value = std::getenv(name))
        return absl::string_view(value);
    return absl::string_view("?");
  };
  return absl::StrCat(
      "rank ",
      find({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID",
            "RANK"}),
      " of ",
      find({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "WORLD_SIZE"}));
}

absl::Status Session::awaitTransport(absl::string_view doing) {
  // The transport's own deadline should pass first, as its error says more.
  if (threads->wait(options.timeout + absl::Seconds(2)))
    return finishRanks();
  isStuck = true;
  failure =
      makeError(ErrorCode::CollectiveTimeout, describeLaunched(), ", ", doing,
                ": another rank did not arrive, or stopped, within ",
                absl::FormatDuration(options.timeout),
                "; a longer --timeout helps if it is only slow");
  return failure;
}

absl::Status Session::close() {
  if (!threads)
    return absl::OkStatus();
  abort("the session was closed");
  if (!isStuck && !threads->wait(options.timeout)) {
    isStuck = true;
    failure = makeError(
        ErrorCode::RunTimeout, "the run under way has not finished within ",
        absl::FormatDuration(options.timeout), " after it was stopped");
  }
  // Executors and worlds are destroyed on the threads that made them, as MPI
  // requires.
  if (!isStuck) {
    startRanks([isFine = failure.ok()](Rank &rank) {
      rank.executor.reset();
      return isFine && rank.world ? rank.world->part() : absl::OkStatus();
    });
    threads->wait();
    (void)finishRanks();
    startRanks([isFine = failure.ok()](Rank &rank) {
      absl::Status status;
      if (isFine && rank.world)
        status = rank.world->finalize();
      rank.world.reset();
      return status;
    });
    (void)awaitTransport("leaving the job");
  }
  if (isStuck)
    abandon();
  threads.reset();
  return failure;
}

/// Keeps everything that the session's threads use, and never frees it: a
/// thread that cannot be stopped may still be running.
void Session::abandon() {
  struct Remains {
    std::shared_ptr<const Artifact> artifact;
    std::shared_ptr<ThreadDomain> domain;
    std::unique_ptr<Backend> backend;
    std::vector<Rank> ranks;
    std::unique_ptr<RankThreads> threads;
  };
  // The vector is never destroyed, but stays reachable, so it is not a leak.
  static auto *kept = new std::vector<std::unique_ptr<Remains>>;
  static absl::Mutex mutex;
  absl::MutexLock lock(&mutex);
  kept->push_back(
      std::make_unique<Remains>(Remains{artifact, domain, std::move(backend),
                                        std::move(ranks), std::move(threads)}));
}

int Session::getNumThreads() const {
  if (options.threads > 0)
    return options.threads;
  return std::max(1, ranks.front().world->getCoresPerRank());
}

/// Checks that all ranks run this artifact, and that there are as many as its
/// mesh has devices.
absl::Status Session::compareProgram(World &world) const {
  absl::Status mesh;
  int64_t wanted = artifact->getNumDevices();
  // If the MPI library is not the launcher's, each process finds that it is the
  // only one of its job.
  const char *told = std::getenv("PMI_SIZE");
  if (world.getSize() == 1 && told && std::atoi(told) > 1 &&
      options.transport == "mpi")
    mesh =
        makeError(ErrorCode::MeshMismatch, "the launcher has started ", told,
                  " processes (PMI_SIZE), but MPI sees only one: the launcher "
                  "does not belong to the MPI library that is loaded, which is "
                  "Open MPI's by default; start the processes with the mpirun "
                  "of that library, as in mpirun -n ",
                  wanted, " tp-run ...");
  else if (world.getSize() != wanted)
    mesh = makeError(
        ErrorCode::MeshMismatch, "rank ", world.getRank(), ": ",
        world.getSize(),
        " ranks were started, but the program was compiled for a "
        "mesh of ",
        wanted, " devices; start one rank for each device, as in mpirun -n ",
        wanted, " tp-run ...");
  std::string mine = absl::StrFormat("%016x", artifact->getHash());
  auto all = world.exchange(mine, "comparing programs");
  // If another rank has left because of a wrong mesh, the exchange fails. This
  // rank then reports the same error, so that all exit codes are the same.
  if (!all.ok())
    return mesh.ok() ? all.status() : mesh;
  for (size_t rank = 0; rank < all->size(); ++rank)
    if ((*all)[rank] != mine)
      return makeError(ErrorCode::ProgramMismatch, "rank ", world.getRank(),
                       " runs program ", mine, ", but rank ", rank,
                       " runs program ", (*all)[rank],
                       "; give every rank the same artifact");
  return mesh;
}

/// Returns the outcome of a job that has ended. If several ranks failed, it is
/// the error of a rank that failed by itself, and not because of another rank.
absl::Status Session::finishRanks() {
  std::vector<absl::Status> errors = getRankErrors();
  if (!errors.empty() && failure.ok())
    failure = errors.front();
  return failure;
}

std::vector<absl::Status> Session::getRankErrors() const {
  // A stuck rank may still write to its own status.
  if (isStuck)
    return {failure};
  std::vector<absl::Status> errors;
  for (bool isEcho : {false, true})
    for (const Rank &rank : ranks)
      if (!rank.status.ok() &&
          (getErrorCode(rank.status) == ErrorCode::PeerFailed) == isEcho)
        errors.push_back(rank.status);
  return errors;
}

void Session::abort(absl::string_view why) {
  if (!isStuck && threads->isBusy())
    failRanks(makeError(ErrorCode::Aborted, why));
}

void Session::failRanks(const absl::Status &status) {
  for (Rank &rank : ranks)
    if (rank.world)
      rank.world->fail(status);
}

void Session::leave(const absl::Status &status) {
  if (!threads || isStuck || threads->isBusy())
    return;
  threads->start([this, status](int i) {
    if (World *world = ranks[i].world.get()) {
      world->fail(status);
      world->depart();
    }
  });
  // The process ends next, so nothing is lost by abandoning a rank that hangs.
  isStuck = !threads->wait(absl::Seconds(5));
}

Session::LifeSigns::LifeSigns(Session &session) : session(session) {
  if (session.isOneOfMany())
    session.threads->start([this](int i) {
      Rank &rank = this->session.ranks[i];
      while (!done) {
        rank.world->showLife();
        absl::SleepFor(absl::Milliseconds(100));
      }
    });
}

Session::LifeSigns::~LifeSigns() {
  done = true;
  session.threads->wait();
}
