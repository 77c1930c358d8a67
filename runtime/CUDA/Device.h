// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file One GPU: its context, and what is made on it. Handles end themselves.
///
/// Every function that makes or ends something wants the context to be the
/// thread's: `enter` sees to it, and is cheap.

#ifndef TPRT_CUDA_DEVICE_H
#define TPRT_CUDA_DEVICE_H

#include "runtime/CUDA/Driver.h"

#include "absl/functional/function_ref.h"

#include <memory>
#include <string>
#include <utility>

namespace tprt {

/// A handle of the driver's, and the function that ends it.
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
  /// How many GPUs this process sees.
  static absl::StatusOr<int> count();
  static absl::StatusOr<std::shared_ptr<Device>> open(int ordinal);
  ~Device();

  const Driver &driver;
  const std::string name;    ///< "NVIDIA H200"
  const int chip;            ///< 90 for compute capability 9.0.
  const uint64_t cacheBytes; ///< Of its L2.

  absl::Status check(cuda::Result result, absl::string_view what) const {
    return driver.check(result, what);
  }

  absl::Status enter() const;

  /// A stream of the highest priority, or of none in particular.
  absl::StatusOr<Owned<cuda::Stream>> createStream(bool isUrgent) const;
  /// An event, with the time of its recording or without.
  absl::StatusOr<Owned<cuda::Event>> createEvent(bool hasTime) const;
  /// Memory of the GPU, of which nothing is known.
  absl::StatusOr<Owned<cuda::Pointer>> allocate(uint64_t bytes) const;
  /// Memory of the host that the GPU copies from and to at full speed.
  absl::StatusOr<Owned<void *>> allocateHost(uint64_t bytes) const;

  /// What `issue` puts on the stream, and on others that wait for it, as a
  /// graph.
  absl::StatusOr<Owned<cuda::GraphExec>>
  capture(cuda::Stream stream, absl::FunctionRef<absl::Status()> issue) const;

  /// Waits until the stream has done what was asked of it. `check` is called
  /// now and then, and its error ends the waiting.
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
