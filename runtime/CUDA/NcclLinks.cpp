// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Links between GPUs, through NCCL.
///
/// All collectives go on one stream, so one is in flight at a time, even if
/// collectives along different axes would use different wires. Operations of
/// several communicators deadlock unless all devices execute them in one total
/// order, and a stream is such an order. Since NCCL 2.26,
/// NCCL_LAUNCH_ORDER_IMPLICIT=1 lets operations of several communicators be in
/// flight on several streams, if each device launches them in the same order
/// from one thread, as this runtime does; they overlap with CUDA 12.3 or later,
/// which has launch completion events. That would take one stream per link
/// here, and `separatesLinks` of the target. It is not done, because there was
/// no machine to try it on.

#include "runtime/CUDA/Links.h"
#include "runtime/CUDA/NcclWorld.h"
#include "runtime/Core/Thread.h"

#include "absl/synchronization/notification.h"

#include <algorithm>
#include <cstring>

using namespace tprt;

absl::StatusOr<NcclReduction> tprt::getNcclReduction(DType dtype,
                                                     Reduction reduction) {
  NcclReduction result = {};
  switch (reduction) {
  case Reduction::Max:
    result.operation = nccl::kMax;
    break;
  case Reduction::Min:
    result.operation = nccl::kMin;
    break;
  case Reduction::Sum:
  case Reduction::None:
    result.operation = nccl::kSum;
    break;
  }
  switch (dtype) {
  case DType::F64:
    result.type = nccl::kFloat64;
    return result;
  case DType::F32:
    result.type = nccl::kFloat32;
    return result;
  case DType::BF16:
    result.type = nccl::kBfloat16;
    return result;
  case DType::F16:
    result.type = nccl::kFloat16;
    return result;
  case DType::I64:
    result.type = nccl::kInt64;
    return result;
  case DType::I32:
    result.type = nccl::kInt32;
    return result;
  case DType::I8:
    result.type = nccl::kInt8;
    return result;
  case DType::U64:
    result.type = nccl::kUint64;
    return result;
  case DType::U32:
    result.type = nccl::kUint32;
    return result;
  case DType::U8:
    result.type = nccl::kUint8;
    return result;
  case DType::Bool:
    result.type = nccl::kUint8;
    if (reduction == Reduction::Sum)
      result.operation = nccl::kMax;
    return result;
  case DType::I16:
  case DType::U16:
  case DType::F8E4M3FN:
  case DType::F8E5M2:
    break;
  }
  return makeError(ErrorCode::GpuStep, "NCCL cannot reduce ", getName(dtype),
                   "; convert to a wider type before the reduction");
}

namespace {

class NcclLinks final : public Links {
public:
  NcclLinks(const Device &device, const Nccl &nccl, const Artifact &artifact,
            World &world, absl::Duration timeout)
      : device(device), nccl(nccl), artifact(artifact), world(world),
        timeout(timeout) {}
  ~NcclLinks() override;

  absl::Status connect();

  absl::StatusOr<cuda::Pointer> allocateArena(uint64_t bytes) override;
  bool canCapture() const override { return true; }
  absl::Status start(absl::Span<const Call> calls,
                     cuda::Stream stream) override;
  absl::Status check() override;
  void abort(std::vector<Owned<cuda::GraphExec>> graphs) override;

private:
  struct Group {
    nccl::Comm comm = nullptr;
    nccl::Window window = nullptr;
    int position = 0;
    int size = 1;
  };

  /// Appends a group of these ranks to `groups`.
  absl::Status split(const std::vector<int> &ranks);
  void closeWindows();
  struct Ended;
  absl::Status startOne(const CollectiveCall &call, const Group &group,
                        cuda::Stream stream);
  absl::Status permute(const CollectiveCall &call, const Group &group,
                       cuda::Stream stream);
  /// Waits until the communicator has finished its last operation.
  absl::Status settle(nccl::Comm comm, absl::string_view what);

  const Device &device;
  const Nccl &nccl;
  const Artifact &artifact;
  World &world;
  const absl::Duration timeout;
  Owned<cuda::Pointer> arena; ///< Outlives the windows registered in it.
  nccl::Comm all = nullptr;
  std::vector<Group> groups; ///< Indexed by row of Communicators.
};

} // namespace

absl::StatusOr<std::unique_ptr<Links>>
tprt::connectNccl(const Device &device, const Artifact &artifact, World &world,
                  absl::Duration timeout) {
  for (const CollectiveRow &row : artifact.rows<CollectiveRow>())
    if (row.reduction != Reduction::None)
      TPRT_RETURN_IF_ERROR(getNcclReduction(row.dtype, row.reduction).status());
  TPRT_ASSIGN_OR_RETURN(const Nccl *nccl, openNccl());
  auto links =
      std::make_unique<NcclLinks>(device, *nccl, artifact, world, timeout);
  TPRT_RETURN_IF_ERROR(links->connect());
  return links;
}

/// Returns a configuration with which calls do not block. Groups share the
/// resources of their parent communicator, so aborting one group stops the
/// kernels of all groups.
static nccl::Config getConfig() {
  nccl::Config config;
  config.blocking = 0;
  config.splitShare = 1;
  return config;
}

absl::Status NcclLinks::connect() {
  nccl::UniqueId id = {};
  if (world.getRank() == 0)
    TPRT_RETURN_IF_ERROR(nccl.check(nccl.getUniqueId(&id), "making an id"));
  TPRT_ASSIGN_OR_RETURN(
      std::vector<std::string> ids,
      world.exchange({id.bytes, sizeof(id.bytes)}, "connecting GPUs"));
  std::memcpy(id.bytes, ids[0].data(), sizeof(id.bytes));
  nccl::Config config = getConfig();
  TPRT_RETURN_IF_ERROR(
      nccl.check(nccl.init(&all, world.getSize(), id, world.getRank(), &config),
                 "connecting the ranks"));
  TPRT_RETURN_IF_ERROR(settle(all, "connecting the ranks"));
  // After a split, NCCL's own thread writes the new communicator to the address
  // it was given, so these addresses must not change.
  groups.reserve(artifact.rows<CommunicatorRow>().size());
  for (const CommunicatorRow &row : artifact.rows<CommunicatorRow>())
    TPRT_RETURN_IF_ERROR(split(artifact.getGroup(row, world.getRank())));
  return absl::OkStatus();
}

absl::Status NcclLinks::split(const std::vector<int> &ranks) {
  constexpr absl::string_view what = "making a group";
  Group &group = groups.emplace_back();
  group.size = static_cast<int>(ranks.size());
  group.position = static_cast<int>(
      std::find(ranks.begin(), ranks.end(), world.getRank()) - ranks.begin());
  // A group's color is its smallest rank; ranks outside it form other groups.
  int color = *std::min_element(ranks.begin(), ranks.end());
  nccl::Config config = getConfig();
  TPRT_RETURN_IF_ERROR(nccl.check(
      nccl.split(all, color, group.position, &group.comm, &config), what));
  // The parent does the split. Until it is done, the child has no state that
  // could be read.
  TPRT_RETURN_IF_ERROR(settle(all, what));
  if (!group.comm)
    return makeError(ErrorCode::Transport, "NCCL: ", what,
                     ": ncclCommSplit returned no communicator");
  return settle(group.comm, what);
}

/// Frees memory that NCCL allocated.
static cuda::Result freeArena(cuda::Pointer pointer) {
  auto library = openNccl();
  if (library.ok())
    (*library)->memFree(
        reinterpret_cast<void *>(static_cast<uintptr_t>(pointer)));
  return cuda::kSuccess;
}

/// Allocates memory that has the same offsets on every rank. NCCL may access it
/// from another GPU without copying through its own buffers. Returns 0 on all
/// ranks if NCCL does not support windows here, or if a rank lacks the memory.
/// The caller then uses other memory, and exchanges are slower. Registering is
/// collective, so the ranks first tell each other whether they have the memory.
absl::StatusOr<cuda::Pointer> NcclLinks::allocateArena(uint64_t bytes) {
  if (!nccl.memAlloc || !nccl.memFree || !nccl.registerWindow ||
      !nccl.deregisterWindow || bytes == 0 || groups.empty())
    return cuda::Pointer(0);
  constexpr uint64_t alignment = 4096;
  uint64_t padded = (bytes + alignment - 1) / alignment * alignment;
  void *memory = nullptr;
  if (nccl.memAlloc(&memory, padded) != nccl::kSuccess)
    memory = nullptr;
  arena = {reinterpret_cast<uintptr_t>(memory), freeArena};
  TPRT_ASSIGN_OR_RETURN(
      std::vector<std::string> hasMemory,
      world.exchange(memory ? "1" : "0", "registering the arena"));
  bool isRegistered =
      std::find(hasMemory.begin(), hasMemory.end(), "0") == hasMemory.end();
  for (Group &group : groups) {
    if (!isRegistered)
      break;
    nccl::Result result = nccl.registerWindow(
        group.comm, memory, padded, &group.window, nccl::kWindowSymmetric);
    if (result == nccl::kSuccess || result == nccl::kInProgress) {
      TPRT_RETURN_IF_ERROR(settle(group.comm, "registering the arena"));
      continue;
    }
    // If the library or the machine does not support windows, registering fails
    // on every rank, so all ranks come here.
    group.window = nullptr;
    isRegistered = false;
  }
  if (!isRegistered) {
    closeWindows();
    arena = {};
  }
  return arena.get();
}

void NcclLinks::closeWindows() {
  for (Group &group : groups)
    if (nccl::Window window = std::exchange(group.window, nullptr))
      nccl.deregisterWindow(group.comm, window);
}

absl::Status NcclLinks::settle(nccl::Comm comm, absl::string_view what) {
  return tprt::settle(nccl, comm, what, timeout,
                      [this] { return world.check(); });
}

absl::Status NcclLinks::start(absl::Span<const Call> calls,
                              cuda::Stream stream) {
  TPRT_RETURN_IF_ERROR(nccl.check(nccl.groupStart(), "beginning a group"));
  absl::Status added;
  for (const Call &call : calls) {
    const Group &group = groups[call.call.row->communicator];
    added = addContext(startOne(call.call, group, stream), describe(call.call));
    if (!added.ok())
      break;
  }
  // A group must be ended even if its calls are discarded: while it is open,
  // NCCL defers every call, even an abort.
  nccl::Result ended = nccl.groupEnd();
  TPRT_RETURN_IF_ERROR(added);
  TPRT_RETURN_IF_ERROR(nccl.check(ended, describe(calls.front().call)));
  for (const Call &call : calls)
    TPRT_RETURN_IF_ERROR(
        settle(groups[call.call.row->communicator].comm, describe(call.call)));
  return absl::OkStatus();
}

absl::Status NcclLinks::startOne(const CollectiveCall &call, const Group &group,
                                 cuda::Stream stream) {
  const CollectiveRow &row = *call.row;
  auto count = static_cast<size_t>(row.count);
  // A collective that only moves data is sent as bytes, so it works for every
  // type.
  size_t bytes = count * static_cast<size_t>(getSize(row.dtype));
  switch (row.kind) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::ReduceScatter: {
    TPRT_ASSIGN_OR_RETURN(NcclReduction reduction,
                          getNcclReduction(row.dtype, row.reduction));
    auto reduce = row.kind == CollectiveKind::AllReduce ? nccl.allReduce
                                                        : nccl.reduceScatter;
    return nccl.check(reduce(call.source, call.destination, count,
                             reduction.type, reduction.operation, group.comm,
                             stream),
                      "starting the collective");
  }
  case CollectiveKind::AllGather:
    return nccl.check(nccl.allGather(call.source, call.destination, bytes,
                                     nccl::kInt8, group.comm, stream),
                      "starting the collective");
  case CollectiveKind::AllToAll:
    if (nccl.allToAll)
      return nccl.check(nccl.allToAll(call.source, call.destination, bytes,
                                      nccl::kInt8, group.comm, stream),
                        "starting the collective");
    for (int peer = 0; peer < group.size; ++peer) {
      TPRT_RETURN_IF_ERROR(
          nccl.check(nccl.send(call.source + peer * bytes, bytes, nccl::kInt8,
                               peer, group.comm, stream),
                     "sending"));
      TPRT_RETURN_IF_ERROR(
          nccl.check(nccl.receive(call.destination + peer * bytes, bytes,
                                  nccl::kInt8, peer, group.comm, stream),
                     "receiving"));
    }
    return absl::OkStatus();
  case CollectiveKind::CollectivePermute:
    return permute(call, group, stream);
  }
  return absl::OkStatus();
}

absl::Status NcclLinks::permute(const CollectiveCall &call, const Group &group,
                                cuda::Stream stream) {
  auto bytes = static_cast<size_t>(call.row->count * getSize(call.row->dtype));
  for (int peer = 0; peer < group.size; ++peer)
    if (call.permutation[peer] == group.position)
      TPRT_RETURN_IF_ERROR(nccl.check(
          nccl.send(call.source, bytes, nccl::kInt8, peer, group.comm, stream),
          "sending"));
  auto from = static_cast<int>(call.permutation[group.position]);
  if (from >= 0)
    return nccl.check(nccl.receive(call.destination, bytes, nccl::kInt8, from,
                                   group.comm, stream),
                      "receiving");
  if (bytes == 0)
    return absl::OkStatus();
  return device.check(
      device.driver.set8(reinterpret_cast<uintptr_t>(call.destination), 0,
                         bytes, stream),
      "clearing elements that are not received");
}

absl::Status NcclLinks::check() {
  for (const Group &group : groups) {
    nccl::Result state = nccl::kSuccess;
    TPRT_RETURN_IF_ERROR(nccl.check(nccl.getAsyncError(group.comm, &state),
                                    "asking for errors"));
    TPRT_RETURN_IF_ERROR(
        nccl.check(state, absl::StrCat("rank ", world.getRank())));
  }
  return absl::OkStatus();
}

/// The objects that an abort destroys. While a split is under way, NCCL may
/// write to the `comm` of its Group until the communicator `all` is aborted. So
/// the groups are kept here.
struct NcclLinks::Ended {
  nccl::Comm all;
  std::vector<Group> groups;
  std::vector<Owned<cuda::GraphExec>> graphs;
  absl::Notification isAborted, isReleased;

  void abortGroups(const Nccl &nccl) {
    for (Group &group : groups)
      if (nccl::Comm comm = std::exchange(group.comm, nullptr))
        nccl.abort(comm);
  }
};

void NcclLinks::abort(std::vector<Owned<cuda::GraphExec>> graphs) {
  // The driver or the network may never respond, and the caller still has to
  // report an error. So other threads wait for them, and this thread waits for
  // the other threads only for a limited time.
  constexpr absl::Duration patience = absl::Seconds(10);
  absl::Time deadline = absl::Now() + patience;
  auto ended = std::make_shared<Ended>();
  ended->all = std::exchange(all, nullptr);
  ended->groups = std::exchange(groups, {});
  ended->graphs = std::move(graphs);
  // NCCL destroys no communicator before the graphs that hold its kernels. In
  // CUDA 13.0, contrary to its documentation, the driver destroys no graph
  // before its kernels end. These kernels spin until an abort has begun. So one
  // thread aborts the communicators while another one destroys the graphs.
  auto aborter = Thread::start([ended, &library = nccl] {
    ended->abortGroups(library);
    library.abort(ended->all);
    ended->abortGroups(library); // for a split that was under way
    ended->isAborted.Notify();
  });
  auto releaser = Thread::start([ended, owner = device.shared_from_this()] {
    (void)owner->enter();
    ended->graphs.clear();
    ended->isReleased.Notify();
  });
  for (absl::StatusOr<Thread> *thread : {&aborter, &releaser})
    if (thread->ok())
      std::move(**thread).detach();
  if (!aborter.ok() || !releaser.ok()) {
    // Destroying the communicators and graphs here could block forever, so they
    // are kept until the process exits.
    static auto &kept = *new std::vector<std::shared_ptr<Ended>>;
    kept.push_back(ended);
    return;
  }
  ended->isAborted.WaitForNotificationWithDeadline(deadline);
  ended->isReleased.WaitForNotificationWithDeadline(deadline);
}

NcclLinks::~NcclLinks() {
  // A rank that has failed makes no further calls, because other ranks would
  // have to join in them.
  if (all && !world.check().ok())
    abort({});
  closeWindows();
  for (const Group &group : groups)
    if (group.comm)
      close(nccl, group.comm);
  if (all)
    close(nccl, all);
}
