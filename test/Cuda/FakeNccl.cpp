// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// libnccl.so.2 among the threads of one process, each on a fake GPU of its own.
// Each operation waits in its stream until all of its ranks have come; ranks
// that come for different things make the communicator fail, where the real one
// would hang.
//
// Calls do not block, and what they begin goes on as late as NCCL's own threads
// may let it:
//   - A communicator that is split off is written to its place when its parent
//     is found to have done it: that place must be there still. Before, it is
//     null, and asking null for its state is an error.
//   - The end of a group puts nothing on a stream before its communicators have
//     been asked for their state several times. Until then they take nothing
//     else.
//   - An abort waits for the graphs that hold its operations. Split
//     communicators share what ends them. All that ends a communicator is
//     refused within a group, where it would be put off.

#include "FakeComm.h"

#include "runtime/Communicators/Reduce.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

using namespace fakegpu;
using namespace fakenccl;
using nccl::Result;

static std::map<std::string, std::shared_ptr<Clique>> &getWorlds() {
  static auto &worlds = *new std::map<std::string, std::shared_ptr<Clique>>;
  return worlds;
}

std::deque<ncclComm> &fakenccl::getComms() {
  static auto &all = *new std::deque<ncclComm>;
  return all;
}

static ncclComm *makeComm() { return &getComms().emplace_back(); }

static thread_local int depth = 0;
static thread_local std::vector<Pending> pending;

Result fakenccl::fail(const std::string &what) {
  refuse("NCCL: " + what);
  return kInvalidUsage;
}

/// Puts what a group holds on its streams, as one piece of work for each.
static void enqueueAll(std::vector<Pending> works) {
  while (!works.empty()) {
    CUstream_st *stream = works.front().stream;
    std::vector<Work> together;
    for (auto it = works.begin(); it != works.end();)
      if (it->stream == stream) {
        if (stream->capture)
          it->comm->graphs.push_back(stream->capture);
        together.push_back(std::move(it->work));
        it = works.erase(it);
      } else {
        ++it;
      }
    enqueue(stream, [together] {
      std::vector<Execution> parts;
      for (const Work &work : together)
        parts.push_back(work());
      return [parts]() mutable {
        parts.erase(std::remove_if(parts.begin(), parts.end(),
                                   [](Execution &part) { return part(); }),
                    parts.end());
        return parts.empty();
      };
    });
  }
}

/// Ends the group, unless it is within another.
static Result flush() {
  if (depth > 0 || pending.empty())
    return nccl::kSuccess;
  auto launch = std::make_shared<Launch>();
  launch->works = std::exchange(pending, {});
  for (const Pending &part : launch->works)
    part.comm->launch = launch;
  return nccl::kInProgress;
}

static Result add(nccl::Comm comm, CUstream_st *stream, Work work) {
  if (!comm || comm->isGone || comm->isFinalized || !comm->clique)
    return fail("an operation of no communicator");
  if (comm->launch)
    return fail("an operation before the last one is done");
  if (!isKnown(stream))
    return fail("an operation on an unknown stream");
  pending.push_back({comm, stream, std::move(work)});
  return flush();
}

static bool isInGraph(const ncclComm &comm) {
  return std::any_of(comm.graphs.begin(), comm.graphs.end(),
                     [](const std::weak_ptr<Graph> &known) {
                       std::shared_ptr<Graph> graph = known.lock();
                       return graph && graph->holders > 0;
                     });
}

/// What must not come within a group, nor twice.
static Result checkEnd(nccl::Comm comm, const std::string &what) {
  if (depth > 0)
    return fail(what + " of a communicator within a group, which puts it off");
  return comm->isGone ? fail(what + " of a communicator that is gone")
                      : nccl::kSuccess;
}

/// A collective: `run` computes all results when all ranks are here.
static Result collect(nccl::Comm comm, CUstream_st *stream,
                      const std::string &what, size_t count, const void *source,
                      size_t sourceBytes, void *destination,
                      size_t destinationBytes,
                      const std::function<void(Occasion &, int size)> &run) {
  if (name(source, sourceBytes).empty() ||
      name(destination, destinationBytes).empty())
    return fail(what + " outside of what is allocated");
  record(what + " " + name(source) + " -> " + name(destination) + " of " +
         comm->name + " on " + name(stream));
  bool isStuck = static_cast<long>(count) == getNumber("TPRT_FAKE_STUCK", -1);
  auto *from = static_cast<const char *>(source);
  auto *to = static_cast<char *>(destination);
  return add(comm, stream, [=] {
    uint64_t number = ++comm->operations;
    std::shared_ptr<Clique> clique = comm->clique;
    int rank = comm->rank;
    return [=] {
      if (*comm->isAborted)
        return true;
      if (isStuck)
        return false;
      Occasion &occasion = clique->occasions[number];
      if (occasion.done == 0 && occasion.what.count(rank) == 0) {
        occasion.what[rank] = what;
        occasion.places[rank] = {from, to};
        for (const auto &[other, theirs] : occasion.what)
          if (theirs != what) {
            clique->error = kInvalidUsage;
            record("misuse: rank " + std::to_string(rank) + " is at " + what +
                   ", rank " + std::to_string(other) + " at " + theirs);
          }
        if (static_cast<int>(occasion.what.size()) == clique->size &&
            clique->error == nccl::kSuccess) {
          run(occasion, clique->size);
          occasion.done = 1;
        }
      }
      if (occasion.done == 0)
        return false;
      if (occasion.done++ == clique->size)
        clique->occasions.erase(number);
      return true;
    };
  });
}

static tprt::DType getDType(int type) {
  using tprt::DType;
  constexpr DType types[] = {DType::I8,  DType::U8,  DType::I32, DType::U32,
                             DType::I64, DType::U64, DType::F16, DType::F32,
                             DType::F64, DType::BF16};
  return types[type];
}

static tprt::Reduction getReduction(int operation) {
  return operation == nccl::kSum   ? tprt::Reduction::Sum
         : operation == nccl::kMax ? tprt::Reduction::Max
                                   : tprt::Reduction::Min;
}

/// Elements [first, first+count) of all sources, reduced.
static std::vector<char> reduce(Occasion &occasion, int type, int operation,
                                size_t first, size_t count) {
  tprt::DType dtype = getDType(type);
  auto size = static_cast<size_t>(getSize(dtype));
  std::vector<const char *> sources;
  for (const auto &[rank, place] : occasion.places)
    sources.push_back(place.first + first * size);
  std::vector<char> result(count * size);
  tprt::reduceInOrder(dtype, getReduction(operation), sources,
                      static_cast<int64_t>(count), result.data());
  return result;
}

extern "C" {

const char *ncclGetErrorString(Result result) {
  return result == kInvalidUsage ? "invalid usage"
                                 : "an error of the fake NCCL";
}

Result ncclGetUniqueId(nccl::UniqueId *id) {
  FAIL_IF_TOLD()
  Guard guard(getLock());
  static int next = 0;
  if (const char *address = std::getenv("NCCL_COMM_ID"))
    std::snprintf(id->bytes, sizeof(id->bytes), "%s", address);
  else
    std::snprintf(id->bytes, sizeof(id->bytes), "world %d", next++);
  return nccl::kSuccess;
}

Result ncclCommInitRankConfig(nccl::Comm *comm, int size, nccl::UniqueId id,
                              int rank, nccl::Config *config) {
  FAIL_IF_TOLD()
  Guard guard(getLock());
  dieAt("connect");
  if (config->blocking != 0 || rank < 0 || rank >= size)
    return fail("a communicator that blocks, or of no rank");
  std::shared_ptr<Clique> &clique = getWorlds()[id.bytes];
  if (!clique)
    clique = std::make_shared<Clique>();
  clique->size = size;
  ++clique->arrived;
  *comm = makeComm();
  (*comm)->rank = rank;
  (*comm)->name = "all";
  (*comm)->finish = [made = *comm, clique] {
    if (clique->arrived != clique->size)
      return false;
    made->clique = clique;
    return true;
  };
  record("connect rank " + std::to_string(rank) + " of " +
         std::to_string(size));
  return nccl::kInProgress;
}

Result ncclCommSplit(nccl::Comm comm, int color, int key, nccl::Comm *made,
                     nccl::Config *config) {
  FAIL_IF_TOLD()
  Guard guard(getLock());
  if (!comm || !comm->clique || depth > 0)
    return fail("a split of no communicator, or within a group");
  uint64_t number = comm->splits++;
  std::shared_ptr<Clique> parent = comm->clique;
  int rank = comm->rank;
  parent->splits[number][rank] = {color, key};
  ncclComm *child = makeComm();
  child->rank = key;
  child->name = "c" + std::to_string(number) + "." + std::to_string(color);
  if (config->splitShare == 1)
    child->isAborted = comm->isAborted;
  *made = nullptr;
  comm->finish = [child, made, parent, number, color, asks = kAsks]() mutable {
    const auto &all = parent->splits[number];
    if (--asks > 0 || static_cast<int>(all.size()) < parent->size)
      return false;
    std::shared_ptr<Clique> &clique = parent->children[{number, color}];
    if (!clique) {
      clique = std::make_shared<Clique>();
      for (const auto &[other, place] : all)
        clique->size += place.first == color;
    }
    child->clique = clique;
    *made = child;
    return true;
  };
  record("split " + child->name + " rank " + std::to_string(rank) +
         " position " + std::to_string(key));
  return nccl::kInProgress;
}

Result ncclCommGetAsyncError(nccl::Comm comm, Result *error) {
  FAIL_IF_TOLD()
  Guard guard(getLock());
  if (!comm)
    return kInvalidArgument;
  if (comm->isGone)
    return fail("asking a communicator that is gone");
  *error = nccl::kInProgress;
  if (comm->finish) {
    if (!comm->finish())
      return nccl::kSuccess;
    comm->finish = nullptr;
  }
  if (std::shared_ptr<Launch> launch = comm->launch) {
    if (--launch->asks > 0)
      return nccl::kSuccess;
    for (const Pending &part : launch->works)
      part.comm->launch = nullptr;
    enqueueAll(std::move(launch->works));
  }
  *error = comm->clique->error;
  return nccl::kSuccess;
}

Result ncclCommAbort(nccl::Comm comm) {
  Result told = failsNow(__func__) ? kSystemError : nccl::kSuccess;
  if (!comm)
    return nccl::kSuccess;
  {
    Guard guard(getLock());
    if (Result result = checkEnd(comm, "the abort"))
      return result;
    record("abort " + comm->name);
    *comm->isAborted = true; // kept: work in streams still looks at it
  }
  bool isFree = blockUntil([&] { return !isInGraph(*comm); });
  Guard guard(getLock());
  comm->isGone = true;
  return isFree ? told
                : fail("abort of " + comm->name + " while a graph holds it");
}

Result ncclCommFinalize(nccl::Comm comm) {
  FAIL_IF_TOLD()
  Guard guard(getLock());
  if (!comm)
    return nccl::kSuccess;
  if (Result result = checkEnd(comm, "the end"))
    return result;
  if (comm->isFinalized)
    return fail("a second end of a communicator");
  if (comm->launch || comm->finish)
    return kInvalidArgument; // it can be aborted
  comm->isFinalized = true;
  comm->finish = [asks = kAsks]() mutable { return --asks <= 0; };
  return nccl::kInProgress;
}

Result ncclCommDestroy(nccl::Comm comm) {
  Result told = failsNow(__func__) ? kSystemError : nccl::kSuccess;
  Guard guard(getLock());
  if (!comm)
    return nccl::kSuccess;
  if (Result result = checkEnd(comm, "the end"))
    return result;
  if (!comm->windows.empty())
    return fail("the end of a communicator that has windows");
  if (isInGraph(*comm))
    return fail("the end of a communicator that a graph holds");
  comm->isGone = true;
  return told;
}

Result ncclGroupStart() {
  FAIL_IF_TOLD()
  ++depth;
  return nccl::kSuccess;
}

Result ncclGroupEnd() {
  FAIL_IF_TOLD()
  Guard guard(getLock());
  if (depth == 0)
    return fail("the end of no group");
  --depth;
  if (pending.size() > 1)
    record("group of " + std::to_string(pending.size()));
  return flush();
}

Result ncclAllReduce(const void *source, void *destination, size_t count,
                     int type, int operation, nccl::Comm comm,
                     nccl::Stream stream) {
  FAIL_IF_TOLD()
  Guard guard(getLock());
  size_t bytes = count * static_cast<size_t>(getSize(getDType(type)));
  return collect(
      comm, stream,
      "allReduce " + std::to_string(count) + " type " + std::to_string(type) +
          " op " + std::to_string(operation),
      count, source, bytes, destination, bytes, [=](Occasion &occasion, int) {
        std::vector<char> result = reduce(occasion, type, operation, 0, count);
        for (auto &[rank, place] : occasion.places)
          std::memcpy(place.second, result.data(), bytes);
      });
}

Result ncclReduceScatter(const void *source, void *destination, size_t count,
                         int type, int operation, nccl::Comm comm,
                         nccl::Stream stream) {
  FAIL_IF_TOLD()
  Guard guard(getLock());
  size_t bytes = count * static_cast<size_t>(getSize(getDType(type)));
  auto size = static_cast<size_t>(comm->clique->size);
  return collect(comm, stream,
                 "reduceScatter " + std::to_string(count) + " type " +
                     std::to_string(type) + " op " + std::to_string(operation),
                 count, source, bytes * size, destination, bytes,
                 [=](Occasion &occasion, int) {
                   for (auto &[rank, place] : occasion.places) {
                     std::vector<char> result =
                         reduce(occasion, type, operation,
                                static_cast<size_t>(rank) * count, count);
                     std::memcpy(place.second, result.data(), bytes);
                   }
                 });
}

Result ncclAllGather(const void *source, void *destination, size_t count,
                     int type, nccl::Comm comm, nccl::Stream stream) {
  FAIL_IF_TOLD()
  Guard guard(getLock());
  size_t bytes = count * static_cast<size_t>(getSize(getDType(type)));
  auto size = static_cast<size_t>(comm->clique->size);
  return collect(
      comm, stream, "allGather " + std::to_string(bytes), count, source, bytes,
      destination, bytes * size, [=](Occasion &occasion, int) {
        for (auto &[to, place] : occasion.places)
          for (auto &[from, theirs] : occasion.places)
            std::memcpy(place.second + static_cast<size_t>(from) * bytes,
                        theirs.first, bytes);
      });
}

Result ncclAlltoAll(const void *source, void *destination, size_t count,
                    int type, nccl::Comm comm, nccl::Stream stream) {
  FAIL_IF_TOLD()
  Guard guard(getLock());
  size_t bytes = count * static_cast<size_t>(getSize(getDType(type)));
  auto size = static_cast<size_t>(comm->clique->size);
  return collect(
      comm, stream, "allToAll " + std::to_string(bytes), count, source,
      bytes * size, destination, bytes * size, [=](Occasion &occasion, int) {
        for (auto &[to, place] : occasion.places)
          for (auto &[from, theirs] : occasion.places)
            std::memcpy(place.second + static_cast<size_t>(from) * bytes,
                        theirs.first + static_cast<size_t>(to) * bytes, bytes);
      });
}

Result ncclSend(const void *source, size_t count, int type, int peer,
                nccl::Comm comm, nccl::Stream stream) {
  FAIL_IF_TOLD()
  Guard guard(getLock());
  size_t bytes = count * static_cast<size_t>(getSize(getDType(type)));
  if (name(source, bytes).empty())
    return fail("sending what is not allocated");
  record("send " + name(source) + " " + std::to_string(bytes) + " to " +
         std::to_string(peer) + " of " + comm->name + " on " + name(stream));
  auto *from = static_cast<const char *>(source);
  return add(comm, stream, [=] {
    int rank = comm->rank;
    auto key = std::make_tuple(rank, peer, comm->messages[{rank, peer}]++);
    std::shared_ptr<Clique> clique = comm->clique;
    return [=, isSent = false]() mutable {
      if (*comm->isAborted)
        return true;
      if (!isSent)
        clique->messages[key] = {from, bytes};
      isSent = true;
      return clique->messages.count(key) == 0; // taken
    };
  });
}

Result ncclRecv(void *destination, size_t count, int type, int peer,
                nccl::Comm comm, nccl::Stream stream) {
  FAIL_IF_TOLD()
  Guard guard(getLock());
  size_t bytes = count * static_cast<size_t>(getSize(getDType(type)));
  if (name(destination, bytes).empty())
    return fail("receiving where nothing is allocated");
  record("receive " + name(destination) + " " + std::to_string(bytes) +
         " from " + std::to_string(peer) + " of " + comm->name + " on " +
         name(stream));
  auto *to = static_cast<char *>(destination);
  return add(comm, stream, [=] {
    int rank = comm->rank;
    auto key = std::make_tuple(peer, rank, comm->messages[{peer, rank}]++);
    std::shared_ptr<Clique> clique = comm->clique;
    return [=] {
      if (*comm->isAborted)
        return true;
      auto message = clique->messages.find(key);
      if (message == clique->messages.end())
        return false;
      if (message->second.second != bytes)
        fail("a message of another size");
      std::memcpy(to, message->second.first, bytes);
      clique->messages.erase(message);
      return true;
    };
  });
}

const char *ncclGetLastError(nccl::Comm) {
  return "what the fake NCCL said last\n";
}

} // extern "C"
