// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Finds which alternative of each choice in a program
/// (ControlKind::Choice) is the faster one on this device.
///
/// Rank 0 times both alternatives when the program is loaded (TuningBench.h),
/// and all ranks use its result, so that they compute the same bits. The result
/// is kept (TuningCache.h) for the same code and sizes, unless the times show
/// that another process used the GPU. In the step table
///
///     Control choice 1 1 | Matmul 3 | Kernel skinny_matmul4
///
/// the second alternative runs if it was faster, and otherwise the first. An
/// alternative that fails is never taken.

#ifndef TPRT_CUDA_STEPCHOICES_H
#define TPRT_CUDA_STEPCHOICES_H

#include "runtime/CUDA/StepRunner.h"
#include "runtime/CUDA/TuningBench.h"
#include "runtime/CUDA/TuningCache.h"

namespace tprt {

class StepChoices {
public:
  /// Selects one alternative for each choice of the artifact. All ranks must
  /// call this. Operands that are only read and too large to allocate twice
  /// come from `memory`; `tuning` is the name of the cache file.
  static absl::StatusOr<StepChoices> create(const GpuProgram &program,
                                            const Artifact &artifact,
                                            const BufferPlaces &memory,
                                            StepRunner &runner, World &world,
                                            const std::string &tuning);

  /// Returns true if the second alternative of this choice should run, and
  /// false if the first should run. `control` is the index of the choice's
  /// ControlRow.
  bool takesSecond(uint32_t control) const { return seconds[control]; }

private:
  StepChoices(const GpuProgram &program, const Artifact &artifact,
              StepRunner &runner);
  /// Returns the key of a choice in the cache, given the number of its step.
  std::string getKey(uint32_t step) const;
  /// Puts the steps of one alternative of a choice on the stream: of the first
  /// if `way` is 0, of the second if it is 1.
  absl::Status run(uint32_t step, int way, const BufferPlaces &places,
                   cuda::Stream stream) const;
  absl::StatusOr<TuningBench::Finding>
  measure(uint32_t step, const BufferPlaces &memory, TuningBench &bench) const;

  const GpuProgram *program;
  const Artifact *artifact;
  StepRunner *runner;
  std::vector<int64_t> counters; ///< All 0: the first iteration of each loop.
  std::vector<bool> seconds;     ///< Indexed by control row.
};

} // namespace tprt

#endif // TPRT_CUDA_STEPCHOICES_H
