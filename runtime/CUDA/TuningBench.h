// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Finds the fastest of several ways to do something on a GPU, under the
/// conditions that a program has:
///   - The ways take turns, and the best of several rounds counts: none is
///     favoured by when its turn comes. Before the first round the GPU works
///     for some time, so that its clocks have risen.
///   - The L2 cache holds nothing of the operands: between two uses of a
///   weight,
///     a program reads all its other weights.
///   - Operands are random. Of zeros, products take up to an eighth less.
///   - Each way is launched from a graph, as in a program.
/// A way that fails is left out. Where another process uses the GPU, rounds
/// differ, and what was found is not certain.

#ifndef TPRT_CUDA_TUNINGBENCH_H
#define TPRT_CUDA_TUNINGBENCH_H

#include "runtime/CUDA/Device.h"
#include "runtime/Core/Artifact.h"

namespace tprt {

class TuningBench {
public:
  static absl::StatusOr<TuningBench> create(const Device &device);

  /// So many bytes of random elements, of magnitudes between 0.5 and 1; none
  /// if there is no memory for them. U8 are of a type that only a kernel knows:
  /// of 16-bit floats, they are positive and up to 2.
  absl::StatusOr<Owned<cuda::Pointer>> makeOperand(DType dtype, uint64_t bytes);

  struct Finding {
    int way;
    /// Whether the rounds agree, so that it is worth keeping.
    bool isCertain;
  };
  using Run = absl::FunctionRef<absl::Status(int way, cuda::Stream)>;
  /// The fastest way. `run` puts one on a stream.
  absl::StatusOr<Finding> findFastest(int ways, Run run);

private:
  explicit TuningBench(const Device &device) : device(&device) {}
  absl::Status clearCache();
  /// A way's graph, after a run that loads its code; none if it cannot be
  /// captured. `ran` says whether the way fails.
  absl::StatusOr<Owned<cuda::GraphExec>> prepare(int way, Run run,
                                                 absl::Status &ran);
  /// Works until the clocks have risen.
  absl::Status warmUp();
  /// Milliseconds of what `launch` puts on the stream.
  absl::StatusOr<float> time(absl::FunctionRef<absl::Status()> launch);

  const Device *device;
  bool isWarm = false;
  Owned<cuda::Stream> stream;
  Owned<cuda::Event> begin, end;
  Owned<cuda::Pointer> cleared; ///< None if there is no memory for it.
  Owned<void *> staging;
};

} // namespace tprt

#endif // TPRT_CUDA_TUNINGBENCH_H
