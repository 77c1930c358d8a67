// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ranks that share a GPU read each other's memory. Each rank has one stream for
// its parts of all collectives. This stream waits for events on the streams of
// the other ranks. The threads exchange these events when they meet. No thread
// waits for the GPU.

#include "runtime/CUDA/Links.h"
#include "runtime/Communicators/Meeting.h"

#include "absl/container/flat_hash_map.h"

#include <algorithm>
#include <tuple>

using namespace tprt;

namespace {

/// The events that a rank passes to the others: its source is ready; its part
/// of an all-reduce is reduced; it has read all that it needs.
enum Stage { Ready, Reduced, Done };

/// Parts of an all-reduce begin at multiples of this, the size of a cache line.
constexpr int64_t kPartBytes = 128;

class VirtualLinks final : public Links {
public:
  VirtualLinks(const GpuProgram &program, const Artifact &artifact)
      : program(program), device(program.getDevice()), artifact(artifact) {}

  absl::Status connect(World &world);

  bool canCapture() const override { return false; }
  absl::Status start(absl::Span<const Call> calls,
                     cuda::Stream stream) override {
    for (const Call &call : calls)
      TPRT_RETURN_IF_ERROR(startOne(call, stream));
    return absl::OkStatus();
  }
  absl::Status check() override { return absl::OkStatus(); }
  void abort(std::vector<Owned<cuda::GraphExec>>) override {}

private:
  struct Group {
    explicit Group(Meeting meeting) : meeting(std::move(meeting)) {}
    Meeting meeting;
    Owned<cuda::Event> events[3];
  };

  absl::Status startOne(const Call &call, cuda::Stream stream);
  absl::Status allReduce(Group &group, const CollectiveCall &call,
                         cuda::Stream stream);
  absl::Status record(Group &group, Stage stage, cuda::Stream stream);
  /// Makes the stream wait for the event that each other rank has recorded for
  /// this stage.
  absl::Status await(Group &group, Stage stage, cuda::Stream stream);
  absl::Status copy(char *to, const char *from, int64_t bytes,
                    cuda::Stream stream) const;
  /// Reduces `count` elements at byte `offset` of all sources.
  absl::Status reduce(Group &group, const CollectiveRow &row, int64_t offset,
                      int64_t count, char *to, cuda::Stream stream);

  const GpuProgram &program;
  const Device &device;
  const Artifact &artifact;
  std::vector<Group> groups;
  absl::flat_hash_map<std::tuple<DType, Reduction, uint32_t>, uint32_t> kernels;
};

} // namespace

absl::StatusOr<std::unique_ptr<Links>>
tprt::connectVirtual(const GpuProgram &program, const Artifact &artifact,
                     World &world) {
  auto links = std::make_unique<VirtualLinks>(program, artifact);
  TPRT_RETURN_IF_ERROR(links->connect(world));
  return links;
}

absl::Status VirtualLinks::connect(World &world) {
  std::shared_ptr<ThreadDomain> domain = world.getThreads();
  if (!domain)
    return makeError(ErrorCode::BadOption,
                     "virtual ranks are threads of one process; start tp-run "
                     "without mpirun, or with --backend=cuda");
  int occasion = 0; // negative, unlike the world's occasions
  for (const CommunicatorRow &row : artifact.rows<CommunicatorRow>()) {
    std::vector<int> ranks = artifact.getGroup(row, world.getRank());
    Group group(
        Meeting(domain, domain->join(--occasion, ranks), world.getRank()));
    for (Owned<cuda::Event> &event : group.events) {
      TPRT_ASSIGN_OR_RETURN(event, device.createEvent(false));
    }
    groups.push_back(std::move(group));
  }
  for (const CombineRow &row : artifact.rows<CombineRow>())
    kernels[{row.dtype, row.reduction, row.groupSize}] = row.kernel;
  for (const CollectiveRow &row : artifact.rows<CollectiveRow>()) {
    auto size = static_cast<uint32_t>(groups[row.communicator].meeting.size());
    if (row.reduction != Reduction::None && size > 1 &&
        !kernels.contains({row.dtype, row.reduction, size}))
      return makeError(ErrorCode::GpuStep,
                       "the artifact has no kernel that "
                       "reduces the ",
                       getName(row.dtype), " values of ", size,
                       " ranks on one GPU; compile it again, or use "
                       "--backend=cuda");
  }
  return absl::OkStatus();
}

absl::Status VirtualLinks::record(Group &group, Stage stage,
                                  cuda::Stream stream) {
  cuda::Event event = group.events[stage].get();
  group.meeting.mine().events[stage] = event;
  return device.check(device.driver.recordEvent(event, stream),
                      "recording an event");
}

absl::Status VirtualLinks::await(Group &group, Stage stage,
                                 cuda::Stream stream) {
  for (size_t peer = 0; peer < group.meeting.size(); ++peer)
    if (peer != group.meeting.position)
      TPRT_RETURN_IF_ERROR(device.check(
          device.driver.waitEvent(
              stream,
              static_cast<cuda::Event>(group.meeting.at(peer).events[stage]),
              0),
          "waiting for another rank"));
  return absl::OkStatus();
}

absl::Status VirtualLinks::startOne(const Call &call, cuda::Stream stream) {
  const CollectiveRow &row = *call.call.row;
  Group &group = groups[row.communicator];
  Meeting &meeting = group.meeting;
  auto what = [&] { return describe(call.call); };
  TPRT_RETURN_IF_ERROR(record(group, Ready, stream));
  TPRT_RETURN_IF_ERROR(meeting.meetAt(call.index, call.call));
  TPRT_RETURN_IF_ERROR(await(group, Ready, stream));
  int64_t bytes = row.count * getSize(row.dtype);
  auto position = static_cast<int64_t>(meeting.position);
  auto ranks = static_cast<int64_t>(meeting.size());
  auto sourceOf = [&](int64_t peer) { return meeting.shown(peer).call.source; };
  char *to = call.call.destination;
  switch (row.kind) {
  case CollectiveKind::AllReduce:
    TPRT_RETURN_IF_ERROR(allReduce(group, call.call, stream));
    break;
  case CollectiveKind::AllGather:
    for (int64_t peer = 0; peer < ranks; ++peer)
      TPRT_RETURN_IF_ERROR(
          copy(to + peer * bytes, sourceOf(peer), bytes, stream));
    break;
  case CollectiveKind::ReduceScatter:
    TPRT_RETURN_IF_ERROR(
        reduce(group, row, position * bytes, row.count, to, stream));
    break;
  case CollectiveKind::AllToAll:
    for (int64_t peer = 0; peer < ranks; ++peer)
      TPRT_RETURN_IF_ERROR(copy(
          to + peer * bytes, sourceOf(peer) + position * bytes, bytes, stream));
    break;
  case CollectiveKind::CollectivePermute:
    if (int64_t from = call.call.permutation[position]; from >= 0) {
      TPRT_RETURN_IF_ERROR(copy(to, sourceOf(from), bytes, stream));
    } else if (bytes > 0) {
      TPRT_RETURN_IF_ERROR(
          device.check(device.driver.set8(reinterpret_cast<uintptr_t>(to), 0,
                                          static_cast<size_t>(bytes), stream),
                       "clearing elements that are not received"));
    }
    break;
  }
  TPRT_RETURN_IF_ERROR(record(group, Done, stream));
  TPRT_RETURN_IF_ERROR(meeting.meet(what));
  return await(group, Done, stream); // all sources are free again
}

absl::Status VirtualLinks::allReduce(Group &group, const CollectiveCall &call,
                                     cuda::Stream stream) {
  const CollectiveRow &row = *call.row;
  Meeting &meeting = group.meeting;
  auto ranks = static_cast<int64_t>(meeting.size());
  int64_t size = getSize(row.dtype);
  int64_t unit = kPartBytes / size;
  auto begin = [&](int64_t peer) {
    return peer == ranks ? row.count : row.count * peer / ranks / unit * unit;
  };
  // Source and destination may be the same memory: until all ranks have reduced
  // their parts, rank p reads only part p of the sources, and writes only part
  // p of its destination.
  auto position = static_cast<int64_t>(meeting.position);
  int64_t mine = begin(position);
  TPRT_RETURN_IF_ERROR(reduce(group, row, mine * size,
                              begin(position + 1) - mine,
                              call.destination + mine * size, stream));
  TPRT_RETURN_IF_ERROR(record(group, Reduced, stream));
  TPRT_RETURN_IF_ERROR(meeting.meet([&] { return describe(call); }));
  TPRT_RETURN_IF_ERROR(await(group, Reduced, stream));
  for (int64_t peer = 0; peer < ranks; ++peer)
    if (peer != position)
      TPRT_RETURN_IF_ERROR(
          copy(call.destination + begin(peer) * size,
               meeting.shown(peer).call.destination + begin(peer) * size,
               (begin(peer + 1) - begin(peer)) * size, stream));
  return absl::OkStatus();
}

absl::Status VirtualLinks::copy(char *to, const char *from, int64_t bytes,
                                cuda::Stream stream) const {
  if (bytes == 0)
    return absl::OkStatus();
  return device.check(device.driver.copy(reinterpret_cast<uintptr_t>(to),
                                         reinterpret_cast<uintptr_t>(from),
                                         static_cast<size_t>(bytes), stream),
                      "copying between ranks");
}

absl::Status VirtualLinks::reduce(Group &group, const CollectiveRow &row,
                                  int64_t offset, int64_t count, char *to,
                                  cuda::Stream stream) {
  if (count == 0)
    return absl::OkStatus();
  size_t ranks = group.meeting.size();
  if (ranks == 1)
    return copy(
        to, group.meeting.shown(group.meeting.position).call.source + offset,
        count * getSize(row.dtype), stream);
  std::vector<cuda::Pointer> operands;
  for (size_t peer = 0; peer < ranks; ++peer)
    operands.push_back(
        reinterpret_cast<uintptr_t>(group.meeting.shown(peer).call.source) +
        static_cast<uint64_t>(offset));
  operands.push_back(reinterpret_cast<uintptr_t>(to));
  std::vector<void *> arguments;
  for (cuda::Pointer &operand : operands)
    arguments.push_back(&operand);
  arguments.push_back(&count);
  auto kernel =
      kernels.find({row.dtype, row.reduction, static_cast<uint32_t>(ranks)});
  return program.launch(kernel->second, arguments.data(), stream);
}
