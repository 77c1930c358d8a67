// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Matmuls through cuBLASLt.
///
/// cuBLASLt's heuristic proposes algorithms. The fastest of the first eight is
/// found by running them (TuningBench.h), once per matmul at load, and kept
/// (TuningCache.h) if no other process used the GPU meanwhile. Rank 0 measures,
/// and the others take its results: ranks that compute the same thing compute
/// the same bits.

#ifndef TPRT_CUDA_DEVICEMATMUL_H
#define TPRT_CUDA_DEVICEMATMUL_H

#include "runtime/CUDA/Blas.h"
#include "runtime/CUDA/BufferPlaces.h"
#include "runtime/CUDA/MatmulPlan.h"
#include "runtime/CUDA/TuningBench.h"
#include "runtime/Communicators/Communicator.h"

namespace tprt {

class DeviceMatmul {
public:
  /// Plans all matmuls and chooses their algorithms. All ranks must call it
  /// together. With `isFast`, f32 operands may be rounded to tf32 for the
  /// tensor cores.
  static absl::StatusOr<std::unique_ptr<DeviceMatmul>>
  create(const Device &device, const Artifact &artifact,
         const BufferPlaces &memory, World &world, bool isFast);
  ~DeviceMatmul();

  /// Returns the name of the file that keeps the fastest algorithms for this
  /// device and library.
  std::string getTuningName() const;

  /// Runs a row of the Matmuls table.
  absl::Status run(uint32_t row, const BufferPlaces &memory,
                   absl::Span<const int64_t> counters, cuda::Stream stream);

private:
  struct Prepared;
  struct Addresses;

  DeviceMatmul(const Device &device, const Blas &blas,
               const Artifact &artifact);
  absl::Status prepare(const MatmulRow &row, bool isFast);
  absl::Status choose(const BufferPlaces &memory, World &world, bool isFast);
  struct Choice {
    blas::Algorithm algorithm;
    bool isCertain; ///< If false, it is measured again next time.
  };
  /// Finds the fastest algorithm. Results are written to scratch memory.
  absl::StatusOr<Choice> measure(uint32_t row, const BufferPlaces &memory,
                                 TuningBench &bench);
  absl::Status call(Prepared &prepared, Addresses addresses,
                    cuda::Stream stream);
  Addresses getAddresses(uint32_t row, const BufferPlaces &memory,
                         absl::Span<const int64_t> counters) const;

  const Device &device;
  const Blas &blas;
  const Artifact &artifact;
  blas::Handle handle = nullptr;
  Owned<cuda::Pointer> workspace;
  std::vector<std::unique_ptr<Prepared>> rows; ///< Indexed by row of Matmuls.
};

} // namespace tprt

#endif // TPRT_CUDA_DEVICEMATMUL_H
