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

  /// Makes this many bytes of random elements, with magnitudes between 0.5 and
  /// 1; none if there is no memory for them. U8 means that only a kernel knows
  /// the type; the bytes are chosen so that all elements are positive and at
  /// most 2 if they are read as 16-bit floats.
  absl::StatusOr<Owned<cuda::Pointer>> makeOperand(DType dtype, uint64_t bytes);

  struct Finding {
    int way;
    /// True if the rounds agree, so that the result is worth keeping.
    bool isCertain;
  };
  using Run = absl::FunctionRef<absl::Status(int way, cuda::Stream)>;
  /// Returns the fastest way. `run` puts a way on a stream.
  absl::StatusOr<Finding> findFastest(int ways, Run run);

private:
  explicit TuningBench(const Device &device) : device(&device) {}
  absl::Status clearCache();
  /// Runs a way once, so that its code is loaded, and returns its graph; none
  /// if the way cannot be captured. `ran` receives the error if the way fails.
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
