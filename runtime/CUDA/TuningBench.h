// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Finds the fastest of several ways to do something on a GPU, under the
/// conditions that a program has:
///   - The ways take turns, and the best of several rounds counts: clocks rise
///     meanwhile, and none is favoured by when its turn comes.
///   - The L2 cache holds nothing of the operands: between two uses of a
///   weight,
///     a program reads all its other weights.
///   - Operands are random. Of zeros, products take up to an eighth less.
/// A way that fails is left out.

#ifndef TPRT_CUDA_TUNINGBENCH_H
#define TPRT_CUDA_TUNINGBENCH_H

#include "runtime/CUDA/Device.h"
#include "runtime/Core/Artifact.h"

namespace tprt {

class TuningBench {
public:
  static absl::StatusOr<TuningBench> create(const Device &device);

  /// So many bytes of random elements, of magnitudes between 0.5 and 1; none
  /// if there is no memory for them.
  absl::StatusOr<Owned<cuda::Pointer>> makeOperand(DType dtype, uint64_t bytes);

  /// The number of the fastest way. `run` puts one on a stream.
  absl::StatusOr<int>
  findFastest(int ways, absl::FunctionRef<absl::Status(int, cuda::Stream)> run);

private:
  explicit TuningBench(const Device &device) : device(&device) {}
  absl::Status clearCache();

  const Device *device;
  Owned<cuda::Stream> stream;
  Owned<cuda::Event> begin, end;
  Owned<cuda::Pointer> cleared; ///< None if there is no memory for it.
  Owned<void *> staging;
};

} // namespace tprt

#endif // TPRT_CUDA_TUNINGBENCH_H
