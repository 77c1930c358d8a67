// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file When the steps of a run began and ended on the GPU, by events that are
/// recorded around each and read when all is over.

#ifndef TPRT_CUDA_STEPCLOCK_H
#define TPRT_CUDA_STEPCLOCK_H

#include "runtime/CUDA/Device.h"
#include "runtime/Core/Backend.h"

namespace tprt {

class StepClock {
public:
  explicit StepClock(const Device &device) : device(device) {}

  /// Begins anew, while nothing is under way on the stream.
  absl::Status begin(cuda::Stream stream);

  /// Notes that the stream has come to here; gives the number of the note.
  absl::StatusOr<size_t> mark(cuda::Stream stream);
  /// A step lay between two notes; a wait takes no time of its own.
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
  int64_t origin = 0; ///< When the first note was taken, in nanoseconds.
  std::vector<Owned<cuda::Event>> events; ///< Kept from run to run.
  size_t used = 0;
  std::vector<Step> steps;
};

} // namespace tprt

#endif // TPRT_CUDA_STEPCLOCK_H
