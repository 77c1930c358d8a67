// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Puts single steps on a stream: kernels, matmuls, copies and fills.

#ifndef TPRT_CUDA_STEPRUNNER_H
#define TPRT_CUDA_STEPRUNNER_H

#include "runtime/CUDA/DeviceMatmul.h"
#include "runtime/CUDA/GpuProgram.h"

namespace tprt {

class StepRunner {
public:
  /// `matmuls` may be null if the artifact has no matmuls.
  StepRunner(const GpuProgram &program, const Artifact &artifact, int64_t rank,
             DeviceMatmul *matmuls)
      : program(&program), artifact(&artifact), rank(rank), matmuls(matmuls) {}

  absl::Status run(const StepRow &step, const BufferPlaces &places,
                   absl::Span<const int64_t> counters, cuda::Stream stream);

private:
  absl::Status runKernel(const KernelCallRow &call, const BufferPlaces &places,
                         absl::Span<const int64_t> counters,
                         cuda::Stream stream);
  absl::Status runCopy(const CopyRow &copy, const BufferPlaces &places,
                       absl::Span<const int64_t> counters, cuda::Stream stream);
  absl::Status runFill(const FillRow &fill, const BufferPlaces &places,
                       absl::Span<const int64_t> counters, cuda::Stream stream);

  const GpuProgram *program;
  const Artifact *artifact;
  int64_t rank;
  DeviceMatmul *matmuls;
};

} // namespace tprt

#endif // TPRT_CUDA_STEPRUNNER_H
