// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/NcclWorld.h"

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sched.h>

using namespace tprt;

absl::Status tprt::settle(const Nccl &nccl, nccl::Comm comm,
                          absl::string_view what, absl::Duration timeout,
                          absl::FunctionRef<absl::Status()> check) {
  absl::Time deadline = absl::InfinitePast(); // set at the first slow wait
  while (true) {
    nccl::Result state = nccl::kSuccess;
    TPRT_RETURN_IF_ERROR(nccl.check(nccl.getAsyncError(comm, &state), what));
    if (state != nccl::kInProgress)
      return nccl.check(state, what);
    TPRT_RETURN_IF_ERROR(check());
    absl::Time now = absl::Now();
    if (deadline == absl::InfinitePast())
      deadline = now + timeout;
    if (now > deadline)
      return makeError(ErrorCode::CollectiveTimeout, "NCCL, ", what,
                       ": not finished within ", absl::FormatDuration(timeout),
                       "; a longer --timeout helps if a rank is only slow");
    sched_yield();
  }
}

void tprt::close(const Nccl &nccl, nccl::Comm comm) {
  // If a rank vanished without notice, it must not block this one.
  constexpr absl::Duration patience = absl::Seconds(5);
  nccl::Result state = nccl.finalize(comm);
  for (absl::Time end = absl::Now() + patience;
       state == nccl::kInProgress && absl::Now() < end; sched_yield())
    if (nccl.getAsyncError(comm, &state) != nccl::kSuccess)
      break;
  if (state == nccl::kSuccess)
    nccl.destroy(comm);
  else
    nccl.abort(comm);
}

namespace {

class NcclWorld final : public World {
public:
  NcclWorld(const Launch &launch, std::shared_ptr<Device> device,
            const Nccl &nccl, absl::Duration timeout)
      : launch(launch), device(std::move(device)), nccl(nccl),
        timeout(timeout) {}
  ~NcclWorld() override;

  absl::Status initialize(const nccl::UniqueId &id);

  int getRank() const override { return launch.rank; }
  int getSize() const override { return launch.size; }

  absl::StatusOr<std::unique_ptr<Communicator>>
  split(const std::vector<int> &) override {
    return makeError(
        ErrorCode::BadOption,
        "ranks started by torchrun or srun can only be connected by their "
        "GPUs; give --backend=cuda, or start the ranks by mpirun");
  }
  absl::StatusOr<std::vector<std::string>>
  exchange(absl::string_view mine, absl::string_view what) override;

  void fail(const absl::Status &cause) override {
    absl::MutexLock lock(&mutex);
    if (failure.ok())
      failure = cause;
  }
  absl::Status check() override {
    return addContext(getFailure(), absl::StrCat("rank ", launch.rank));
  }

private:
  absl::Status getFailure() {
    absl::MutexLock lock(&mutex);
    return failure;
  }
  /// Gathers `bytes` bytes from each rank, in order of rank.
  absl::StatusOr<std::string> gather(const char *mine, size_t bytes,
                                     absl::string_view what);

  const Launch launch;
  const std::shared_ptr<Device> device;
  const Nccl &nccl;
  const absl::Duration timeout;
  Owned<cuda::Stream> stream;
  // Buffers for exchanges, which only grow: they hold `capacity` bytes per
  // rank. Every output is read through them, and pinning memory takes longer
  // than sending.
  size_t capacity = 0;
  Owned<cuda::Pointer> from, to;
  Owned<void *> pinned;
  nccl::Comm comm = nullptr;
  absl::Mutex mutex;
  absl::Status failure ABSL_GUARDED_BY(mutex);
};

} // namespace

MeetingPlace::MeetingPlace(const std::string &address) {
  setenv("NCCL_COMM_ID", address.c_str(), 1);
}

// NCCL must not find this variable later, because the ids of later
// communicators are sent between the ranks.
MeetingPlace::~MeetingPlace() { unsetenv("NCCL_COMM_ID"); }

absl::StatusOr<std::unique_ptr<World>>
tprt::createNcclWorld(const Launch &launch, int gpu, absl::Duration timeout) {
  TPRT_ASSIGN_OR_RETURN(const Nccl *nccl, openNccl());
  TPRT_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, Device::open(gpu));
  nccl::UniqueId id = {};
  TPRT_RETURN_IF_ERROR(nccl->check(nccl->getUniqueId(&id), "making an id"));
  auto world =
      std::make_unique<NcclWorld>(launch, std::move(device), *nccl, timeout);
  TPRT_RETURN_IF_ERROR(world->initialize(id));
  return world;
}

absl::Status NcclWorld::initialize(const nccl::UniqueId &id) {
  TPRT_RETURN_IF_ERROR(device->enter());
  TPRT_ASSIGN_OR_RETURN(stream, device->createStream(false));
  nccl::Config config;
  config.blocking = 0;
  std::string what = absl::StrCat("connecting the ranks at ", launch.address);
  TPRT_RETURN_IF_ERROR(nccl.check(
      nccl.init(&comm, launch.size, id, launch.rank, &config), what));
  return addContext(
      settle(nccl, comm, what, timeout, [this] { return getFailure(); }),
      absl::StrCat("rank ", launch.rank));
}

NcclWorld::~NcclWorld() {
  (void)device->enter();
  if (!comm)
    return;
  if (check().ok())
    close(nccl, comm);
  else
    nccl.abort(comm);
}

absl::StatusOr<std::string> NcclWorld::gather(const char *mine, size_t bytes,
                                              absl::string_view what) {
  size_t all = bytes * static_cast<size_t>(launch.size);
  if (capacity < bytes) {
    capacity = 0; // until all buffers are allocated
    TPRT_ASSIGN_OR_RETURN(from, device->allocate(bytes));
    TPRT_ASSIGN_OR_RETURN(to, device->allocate(all));
    TPRT_ASSIGN_OR_RETURN(pinned, device->allocateHost(all));
    capacity = bytes;
  }
  std::memcpy(pinned.get(), mine, bytes);
  auto getAddress = [](const Owned<cuda::Pointer> &pointer) {
    return reinterpret_cast<void *>(static_cast<uintptr_t>(pointer.get()));
  };
  TPRT_RETURN_IF_ERROR(
      device->check(device->driver.copyToDevice(from.get(), pinned.get(), bytes,
                                                stream.get()),
                    what));
  TPRT_RETURN_IF_ERROR(
      nccl.check(nccl.allGather(getAddress(from), getAddress(to), bytes,
                                nccl::kInt8, comm, stream.get()),
                 what));
  TPRT_RETURN_IF_ERROR(
      settle(nccl, comm, what, timeout, [this] { return getFailure(); }));
  TPRT_RETURN_IF_ERROR(device->check(
      device->driver.copyToHost(pinned.get(), to.get(), all, stream.get()),
      what));
  absl::Time deadline = absl::Now() + timeout;
  TPRT_RETURN_IF_ERROR(device->wait(stream.get(), [&]() -> absl::Status {
    TPRT_RETURN_IF_ERROR(getFailure());
    if (absl::Now() < deadline)
      return absl::OkStatus();
    return makeError(ErrorCode::CollectiveTimeout, what,
                     ": a rank did not arrive within ",
                     absl::FormatDuration(timeout),
                     "; a longer --timeout helps if it is only slow");
  }));
  return std::string(static_cast<const char *>(pinned.get()), all);
}

absl::StatusOr<std::vector<std::string>>
NcclWorld::exchange(absl::string_view mine, absl::string_view what) {
  auto exchangeAll = [&]() -> absl::StatusOr<std::vector<std::string>> {
    TPRT_RETURN_IF_ERROR(device->enter());
    uint64_t size = mine.size();
    TPRT_ASSIGN_OR_RETURN(
        std::string sizeBytes,
        gather(reinterpret_cast<const char *>(&size), sizeof(size), what));
    std::vector<uint64_t> sizes(static_cast<size_t>(launch.size));
    std::memcpy(sizes.data(), sizeBytes.data(), sizeBytes.size());
    // All ranks must send equally many bytes, so each pads its bytes to the
    // largest size. This is at least 1, so that the exchange is never empty.
    uint64_t longest =
        std::max<uint64_t>(1, *std::max_element(sizes.begin(), sizes.end()));
    std::string padded(mine);
    padded.resize(longest);
    TPRT_ASSIGN_OR_RETURN(std::string bytes,
                          gather(padded.data(), longest, what));
    std::vector<std::string> all;
    for (size_t rank = 0; rank < sizes.size(); ++rank)
      all.push_back(bytes.substr(rank * longest, sizes[rank]));
    return all;
  };
  auto all = exchangeAll();
  if (!all.ok())
    return addContext(all.status(), absl::StrCat("rank ", launch.rank));
  return all;
}
