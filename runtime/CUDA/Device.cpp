// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/Device.h"

#include <algorithm>
#include <sched.h>

using namespace tprt;

/// Returns the driver, ready for calls, or an error if there is no GPU.
static absl::StatusOr<const Driver *> initialize() {
  TPRT_ASSIGN_OR_RETURN(const Driver *driver, openDriver());
  static const absl::Status status =
      driver->check(driver->init(0), "starting the driver");
  if (!status.ok())
    return makeError(ErrorCode::GpuMissing, getPlainMessage(status),
                     "; run on a machine with an NVIDIA GPU and a working "
                     "driver (nvidia-smi shows it), or with --backend=cpu");
  return driver;
}

absl::StatusOr<int> Device::count() {
  TPRT_ASSIGN_OR_RETURN(const Driver *driver, initialize());
  int count = 0;
  TPRT_RETURN_IF_ERROR(
      driver->check(driver->getDeviceCount(&count), "counting devices"));
  return count;
}

absl::StatusOr<std::shared_ptr<Device>> Device::open(int ordinal) {
  TPRT_ASSIGN_OR_RETURN(const Driver *driver, initialize());
  cuda::Device device = 0;
  cuda::Context context = nullptr;
  char name[256] = {};
  int major = 0, minor = 0, cacheBytes = 0;
  TPRT_RETURN_IF_ERROR(
      driver->check(driver->getDevice(&device, ordinal), "opening a device"));
  TPRT_RETURN_IF_ERROR(
      driver->check(driver->getDeviceName(name, sizeof(name) - 1, device),
                    "asking for the device's name"));
  std::pair<int, int *> attributes[] = {{cuda::kMajor, &major},
                                        {cuda::kMinor, &minor},
                                        {cuda::kCacheBytes, &cacheBytes}};
  for (auto [attribute, value] : attributes)
    TPRT_RETURN_IF_ERROR(
        driver->check(driver->getAttribute(value, attribute, device),
                      "asking for the device's properties"));
  TPRT_RETURN_IF_ERROR(driver->check(driver->retainContext(&context, device),
                                     "making a context"));
  return std::shared_ptr<Device>(new Device(*driver, device, context, name,
                                            10 * major + minor, cacheBytes));
}

Device::~Device() { driver.releaseContext(device); }

absl::Status Device::enter() const {
  return check(driver.setContext(context), "entering the context");
}

absl::StatusOr<Owned<cuda::Stream>> Device::createStream(bool isUrgent) const {
  int least = 0, greatest = 0;
  TPRT_RETURN_IF_ERROR(check(driver.getPriorities(&least, &greatest),
                             "asking for stream priorities"));
  cuda::Stream stream = nullptr;
  TPRT_RETURN_IF_ERROR(
      check(driver.createStream(&stream, cuda::kStreamNonBlocking,
                                isUrgent ? greatest : least),
            "making a stream"));
  return Owned<cuda::Stream>(stream, driver.destroyStream);
}

absl::StatusOr<Owned<cuda::Event>> Device::createEvent(bool hasTime) const {
  cuda::Event event = nullptr;
  TPRT_RETURN_IF_ERROR(
      check(driver.createEvent(&event, hasTime ? cuda::kEventDefault
                                               : cuda::kEventDisableTiming),
            "making an event"));
  return Owned<cuda::Event>(event, driver.destroyEvent);
}

absl::StatusOr<Owned<cuda::Pointer>> Device::allocate(uint64_t bytes) const {
  cuda::Pointer pointer = 0;
  // Allocate at least a few bytes, so that an empty tensor has an address.
  cuda::Result result =
      driver.allocate(&pointer, std::max<uint64_t>(bytes, 256));
  if (result == cuda::kOutOfMemory) {
    size_t free = 0, total = 0;
    driver.getMemoryInfo(&free, &total);
    return makeError(ErrorCode::OutOfMemory, "cannot allocate ", bytes,
                     " bytes on the GPU, which has ", free, " of ", total,
                     " left: use more devices, or a smaller batch or cache");
  }
  TPRT_RETURN_IF_ERROR(check(result, "allocating"));
  return Owned<cuda::Pointer>(pointer, driver.free);
}

absl::StatusOr<Owned<void *>> Device::allocateHost(uint64_t bytes) const {
  void *memory = nullptr;
  cuda::Result result = driver.allocateHost(&memory, bytes);
  if (result == cuda::kOutOfMemory)
    return makeError(ErrorCode::OutOfMemory, "cannot pin ", bytes,
                     " bytes of the host's memory");
  TPRT_RETURN_IF_ERROR(check(result, "pinning memory"));
  return Owned<void *>(memory, driver.freeHost);
}

absl::StatusOr<Owned<cuda::GraphExec>>
Device::capture(cuda::Stream stream,
                absl::FunctionRef<absl::Status()> issue) const {
  TPRT_RETURN_IF_ERROR(
      check(driver.beginCapture(stream, cuda::kCaptureThreadLocal),
            "beginning a graph"));
  absl::Status issued = issue();
  // A capture must be ended even if what it captured is discarded.
  cuda::Graph captured = nullptr;
  cuda::Result result = driver.endCapture(stream, &captured);
  Owned<cuda::Graph> graph(captured, driver.destroyGraph);
  TPRT_RETURN_IF_ERROR(issued);
  TPRT_RETURN_IF_ERROR(check(result, "making a graph"));
  cuda::GraphExec executable = nullptr;
  TPRT_RETURN_IF_ERROR(check(
      driver.instantiate(&executable, graph.get(), cuda::kUseNodePriority),
      "making a graph"));
  return Owned<cuda::GraphExec>(executable, driver.destroyGraphExec);
}

absl::Status Device::wait(cuda::Stream stream,
                          absl::FunctionRef<absl::Status()> check) const {
  while (true) {
    cuda::Result result = driver.queryStream(stream);
    if (result != cuda::kNotReady)
      return this->check(result, "computing");
    TPRT_RETURN_IF_ERROR(check());
    sched_yield();
  }
}
