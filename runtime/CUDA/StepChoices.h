// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Which of the ways that a program has to do something is the faster one
/// on this device (ControlKind::Choice).
///
/// Rank 0 times both when the program is loaded, as TuningBench.h says, and the
/// others take what it found: ranks that compute the same compute the same
/// bits. What it found is kept (TuningCache.h), for the same code and sizes, if
/// nobody else used the GPU meanwhile. In a step table of two ways,
///
///     Control choice 1 1 | Matmul 3 | Kernel skinny_matmul4
///
/// the second is taken if it is really faster: of equal ones the first, and of
/// ways that fail neither.

#ifndef TPRT_CUDA_STEPCHOICES_H
#define TPRT_CUDA_STEPCHOICES_H

#include "runtime/CUDA/StepRunner.h"
#include "runtime/CUDA/TuningBench.h"
#include "runtime/CUDA/TuningCache.h"

namespace tprt {

class StepChoices {
public:
  /// Makes all choices of the artifact, as all ranks do at once. `memory` holds
  /// what is only read, and too large to be had twice. `tuning` names the file.
  static absl::StatusOr<StepChoices> create(const GpuProgram &program,
                                            const Artifact &artifact,
                                            const BufferPlaces &memory,
                                            StepRunner &runner, World &world,
                                            const std::string &tuning);

  /// Whether the second steps of this row are the ones to execute.
  bool takesSecond(uint32_t control) const { return seconds[control]; }

private:
  StepChoices(const GpuProgram &program, const Artifact &artifact,
              StepRunner &runner);
  /// The steps of a choice, by the number of its own.
  std::string getKey(uint32_t step) const;
  /// Puts the steps of one way on the stream.
  absl::Status run(uint32_t step, int way, const BufferPlaces &places,
                   cuda::Stream stream) const;
  absl::StatusOr<TuningBench::Finding>
  measure(uint32_t step, const BufferPlaces &memory, TuningBench &bench) const;

  const GpuProgram *program;
  const Artifact *artifact;
  StepRunner *runner;
  std::vector<int64_t> counters; ///< The first trips of all loops.
  std::vector<bool> seconds;     ///< By control row.
};

} // namespace tprt

#endif // TPRT_CUDA_STEPCHOICES_H
