// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The times at which the steps of a run began and ended on the GPU,
/// taken from events that are recorded around each step and read when the run
/// is over.

#ifndef TPRT_CUDA_STEPCLOCK_H
#define TPRT_CUDA_STEPCLOCK_H

#include "runtime/CUDA/Device.h"
#include "runtime/Core/Backend.h"

namespace tprt {

class StepClock {
public:
  explicit StepClock(const Device &device) : device(device) {}

  /// Starts a new recording. Nothing may be under way on the stream.
  absl::Status begin(cuda::Stream stream);

  /// Records an event at the current point of the stream, and returns its
  /// number.
  absl::StatusOr<size_t> mark(cuda::Stream stream);
  /// Adds a step that ran between two events. With `isWait`, the time counts as
  /// waiting and not as running.
  void add(uint32_t step, size_t begin, size_t end, bool isWait);

  /// Appends the times, once all streams are done.
  absl::Status finish(std::vector<StepTime> &times) const;

private:
  struct Step {
    uint32_t step;
    size_t begin, end;
    bool isWait;
  };

  const Device &device;
  int64_t origin = 0; ///< When the first event was recorded, in nanoseconds.
  std::vector<Owned<cuda::Event>> events; ///< Kept from run to run.
  size_t used = 0;
  std::vector<Step> steps;
};

} // namespace tprt

#endif // TPRT_CUDA_STEPCLOCK_H
