// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// libnccl.so.2 among the threads of one process, each on a fake GPU of its own.
// Communicators are made in the background, as ours never block. Each operation
// waits in its stream until all of its ranks have come; ranks that come for
// different things make the communicator fail, where the real one would hang.

#include "FakeGpu.h"

#include "runtime/CUDA/Nccl.h"
#include "runtime/Communicators/Reduce.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>

using namespace fakegpu;
namespace nccl = tprt::nccl;
using nccl::Result;

static constexpr Result kInvalidUsage = 5;

namespace {

/// What the ranks of a communicator bring to one operation.
struct Occasion {
  std::map<int, std::string> what; ///< By rank: must be equal.
  std::map<int, std::pair<const char *, char *>> places;
  int done = 0;
};

struct Clique {
  int size = 0;
  int arrived = 0;
  Result error = nccl::kSuccess;
  std::map<uint64_t, Occasion> occasions; ///< By number.
  /// Messages under way, by sender, receiver and number.
  std::map<std::tuple<int, int, uint64_t>, std::pair<const char *, size_t>>
      messages;
  /// Splits under way: by number, each rank's color and key.
  std::map<uint64_t, std::map<int, std::pair<int, int>>> splits;
  std::map<std::pair<uint64_t, int>, std::shared_ptr<Clique>> children;
};

using Guard = std::lock_guard<std::recursive_mutex>;

} // namespace

// NOLINTNEXTLINE(readability-identifier-naming): NVIDIA's name
struct ncclComm {
  std::shared_ptr<Clique> clique; ///< None until all have come.
  int rank = 0;
  std::string name;
  std::function<bool()> finish; ///< Makes the clique known, if it can be.
  bool isAborted = false;
  uint64_t operations = 0, splits = 0;
  std::map<std::pair<int, int>, uint64_t> messages; ///< Their numbers.
};

static std::map<std::string, std::shared_ptr<Clique>> &getWorlds() {
  static auto &worlds = *new std::map<std::string, std::shared_ptr<Clique>>;
  return worlds;
}

/// Lives as long as the process: work in streams looks at it after its end.
static ncclComm *makeComm() {
  static auto &all = *new std::deque<ncclComm>;
  return &all.emplace_back();
}

namespace {
struct Pending {
  CUstream_st *stream;
  Work work;
};
} // namespace
static thread_local int depth = 0;
static thread_local std::vector<Pending> pending;

static Result fail(const std::string &what) {
  refuse("NCCL: " + what);
  return kInvalidUsage;
}

/// Puts what the group holds on its streams, as one piece of work for each.
static Result flush() {
  if (depth > 0)
    return nccl::kSuccess;
  while (!pending.empty()) {
    CUstream_st *stream = pending.front().stream;
    std::vector<Work> together;
    for (auto it = pending.begin(); it != pending.end();)
      if (it->stream == stream) {
        together.push_back(std::move(it->work));
        it = pending.erase(it);
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
  return nccl::kInProgress;
}

static Result add(nccl::Comm comm, CUstream_st *stream, Work work) {
  if (!comm || comm->isAborted || !comm->clique)
    return fail("an operation of no communicator");
  if (!isKnown(stream))
    return fail("an operation on an unknown stream");
  pending.push_back({stream, std::move(work)});
  return flush();
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
      if (comm->isAborted)
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
    if (clique->arrived == clique->size)
      made->clique = clique;
    return made->clique != nullptr;
  };
  record("connect rank " + std::to_string(rank) + " of " +
         std::to_string(size));
  return nccl::kInProgress;
}

Result ncclCommSplit(nccl::Comm comm, int color, int key, nccl::Comm *made,
                     nccl::Config *) {
  Guard guard(getLock());
  if (!comm->clique)
    return fail("a split of no communicator");
  uint64_t number = comm->splits++;
  std::shared_ptr<Clique> parent = comm->clique;
  int rank = comm->rank;
  parent->splits[number][rank] = {color, key};
  *made = makeComm();
  (*made)->rank = key;
  (*made)->name = "c" + std::to_string(number) + "." + std::to_string(color);
  (*made)->finish = [child = *made, parent, number, color] {
    const auto &all = parent->splits[number];
    if (static_cast<int>(all.size()) < parent->size)
      return false;
    std::shared_ptr<Clique> &clique = parent->children[{number, color}];
    if (!clique) {
      clique = std::make_shared<Clique>();
      for (const auto &[other, place] : all)
        clique->size += place.first == color;
    }
    child->clique = clique;
    return true;
  };
  record("split " + (*made)->name + " rank " + std::to_string(rank) +
         " position " + std::to_string(key));
  return nccl::kInProgress;
}

Result ncclCommGetAsyncError(nccl::Comm comm, Result *error) {
  Guard guard(getLock());
  if (!comm->clique && !comm->finish())
    *error = nccl::kInProgress;
  else
    *error = comm->clique->error;
  return nccl::kSuccess;
}

Result ncclCommAbort(nccl::Comm comm) {
  Guard guard(getLock());
  record("abort " + comm->name);
  comm->isAborted = true; // kept: work in streams still looks at it
  return nccl::kSuccess;
}

Result ncclCommFinalize(nccl::Comm) { return nccl::kSuccess; }

Result ncclCommDestroy(nccl::Comm comm) {
  Guard guard(getLock());
  comm->isAborted = true;
  return nccl::kSuccess;
}

Result ncclGroupStart() {
  ++depth;
  return nccl::kSuccess;
}

Result ncclGroupEnd() {
  Guard guard(getLock());
  --depth;
  if (pending.size() > 1)
    record("group of " + std::to_string(pending.size()));
  return flush();
}

Result ncclAllReduce(const void *source, void *destination, size_t count,
                     int type, int operation, nccl::Comm comm,
                     nccl::Stream stream) {
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
      if (comm->isAborted)
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
      if (comm->isAborted)
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

// The windows of 2.27 and later.

cuda::Result cuMemAlloc_v2(cuda::Pointer *, size_t);
cuda::Result cuMemFree_v2(cuda::Pointer);

Result ncclMemAlloc(void **memory, size_t bytes) {
  cuda::Pointer pointer = 0;
  if (cuMemAlloc_v2(&pointer, bytes) != cuda::kSuccess)
    return 1;
  *memory = reinterpret_cast<void *>(pointer);
  return nccl::kSuccess;
}

Result ncclMemFree(void *memory) {
  cuMemFree_v2(reinterpret_cast<uintptr_t>(memory));
  return nccl::kSuccess;
}

Result ncclCommWindowRegister(nccl::Comm comm, void *memory, size_t bytes,
                              nccl::Window *window, int flags) {
  Guard guard(getLock());
  if (name(memory, bytes).empty() || flags != nccl::kWindowSymmetric)
    return fail("a window on what is not allocated");
  record("window " + name(memory) + " of " + comm->name);
  *window = reinterpret_cast<nccl::Window>(memory);
  return nccl::kInProgress;
}

Result ncclCommWindowDeregister(nccl::Comm, nccl::Window window) {
  Guard guard(getLock());
  return name(window).empty() ? fail("a window that is gone") : nccl::kSuccess;
}

} // extern "C"
