// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file One GPU: its context, and what is made on it. Handles release what
/// they hold when they are destroyed.
///
/// Every function that makes or releases something needs the context to be
/// current on the calling thread: `enter` makes it so, and is cheap.

#ifndef TPRT_CUDA_DEVICE_H
#define TPRT_CUDA_DEVICE_H

#include "runtime/CUDA/Driver.h"

#include "absl/functional/function_ref.h"

#include <memory>
#include <string>
#include <utility>

namespace tprt {

/// A handle of the driver's, and the function that releases it.
template <typename Handle> class Owned {
public:
  using End = cuda::Result(Handle);

  Owned() = default;
  Owned(Handle handle, End *end) : handle(handle), end(end) {}
  Owned(Owned &&other)
      : handle(std::exchange(other.handle, Handle())), end(other.end) {}
  Owned &operator=(Owned &&other) {
    std::swap(handle, other.handle);
    std::swap(end, other.end);
    return *this;
  }
  ~Owned() {
    if (handle)
      end(handle);
  }

  Handle get() const { return handle; }
  explicit operator bool() const { return handle != Handle(); }

private:
  Handle handle = Handle();
  End *end = nullptr;
};

class Device : public std::enable_shared_from_this<Device> {
public:
  /// Returns the number of GPUs that this process sees.
  static absl::StatusOr<int> count();
  static absl::StatusOr<std::shared_ptr<Device>> open(int ordinal);
  ~Device();

  const Driver &driver;
  const std::string name;    ///< "NVIDIA H200"
  const int chip;            ///< 90 for compute capability 9.0.
  const uint64_t cacheBytes; ///< The size of its L2 cache.

  absl::Status check(cuda::Result result, absl::string_view what) const {
    return driver.check(result, what);
  }

  absl::Status enter() const;

  /// Creates a stream of the highest priority if `isUrgent`, and of default
  /// priority otherwise.
  absl::StatusOr<Owned<cuda::Stream>> createStream(bool isUrgent) const;
  /// Creates an event, which records its time if `hasTime`.
  absl::StatusOr<Owned<cuda::Event>> createEvent(bool hasTime) const;
  /// Allocates memory on the GPU. Its contents are undefined.
  absl::StatusOr<Owned<cuda::Pointer>> allocate(uint64_t bytes) const;
  /// Allocates host memory that the GPU copies from and to at full speed.
  absl::StatusOr<Owned<void *>> allocateHost(uint64_t bytes) const;

  /// Captures the work that `issue` puts on the stream, and on other streams
  /// that wait for it, as a graph.
  absl::StatusOr<Owned<cuda::GraphExec>>
  capture(cuda::Stream stream, absl::FunctionRef<absl::Status()> issue) const;

  /// Waits until the stream has finished its work. `check` is called now and
  /// then; an error that it returns ends the wait.
  absl::Status wait(cuda::Stream stream,
                    absl::FunctionRef<absl::Status()> check) const;
  absl::Status wait(cuda::Stream stream) const {
    return wait(stream, [] { return absl::OkStatus(); });
  }

private:
  Device(const Driver &driver, cuda::Device device, cuda::Context context,
         std::string name, int chip, int cacheBytes)
      : driver(driver), name(std::move(name)), chip(chip),
        cacheBytes(static_cast<uint64_t>(cacheBytes)), device(device),
        context(context) {}

  const cuda::Device device;
  const cuda::Context context;
};

} // namespace tprt

#endif // TPRT_CUDA_DEVICE_H
