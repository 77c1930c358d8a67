// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Finds the fastest of several ways to do something on a GPU, under the
/// conditions that a program has:
///   - The ways take turns, and the best of several rounds counts, so that the
///     order does not favour any way. Before the first round, the GPU is kept
///     busy until its clocks have risen.
///   - The L2 cache does not contain the operands: between two uses of a
///     weight, a program reads all its other weights.
///   - Operands are random. Products of zeros take up to an eighth less time.
///   - Each way is launched from a graph, as in a program.
/// A way that fails is left out. If another process uses the GPU, the rounds
/// differ, and the result is not certain.

#ifndef TPRT_CUDA_TUNINGBENCH_H
#define TPRT_CUDA_TUNINGBENCH_H

#include "runtime/CUDA/Device.h"
#include "runtime/Core/Artifact.h"

namespace tprt {

class TuningBench {
public:
  static absl::StatusOr<TuningBench> create(const Device &device);

  /// Allocates this many bytes and fills them with random elements of
  /// magnitudes between 0.5 and 1. Returns an empty pointer if the allocation
  /// fails. U8 is for operands whose element type only the kernel knows: read
  /// as 16-bit floats, the bytes are positive numbers of at most 2.
  absl::StatusOr<Owned<cuda::Pointer>> makeOperand(DType dtype, uint64_t bytes);

  struct Finding {
    int way;
    /// True if the rounds agree, so that the result is worth keeping.
    bool isCertain;
  };
  using Run = absl::FunctionRef<absl::Status(int way, cuda::Stream)>;
  /// Times each of `ways` alternatives and returns the fastest. `run` puts the
  /// work of one alternative on a stream.
  absl::StatusOr<Finding> findFastest(int ways, Run run);

private:
  explicit TuningBench(const Device &device) : device(&device) {}
  absl::Status clearCache();
  /// Runs alternative `way` once, which loads its code, and captures it as a
  /// CUDA graph. Returns no graph if the capture fails. `ran` receives the
  /// error if `run` fails.
  absl::StatusOr<Owned<cuda::GraphExec>> prepare(int way, Run run,
                                                 absl::Status &ran);
  /// Keeps the GPU busy until its clocks have risen.
  absl::Status warmUp();
  /// Returns how many milliseconds the work that `launch` puts on the stream
  /// takes.
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
