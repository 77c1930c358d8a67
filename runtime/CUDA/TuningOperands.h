// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Memory for steps that are timed before a program runs: no input has a
/// value yet, and what steps write must not be lost. What overlaps in the
/// program's memory is one block here, filled with random numbers.

#ifndef TPRT_CUDA_TUNINGOPERANDS_H
#define TPRT_CUDA_TUNINGOPERANDS_H

#include "runtime/CUDA/BufferPlaces.h"
#include "runtime/CUDA/TuningBench.h"

#include "absl/types/optional.h"

namespace tprt {

class TuningOperands final : public BufferPlaces {
public:
  /// Of these steps, at the first trips of all loops. What is only read lies in
  /// `memory` where there is no more memory for it; none if something is
  /// written for which there is no memory.
  static absl::StatusOr<absl::optional<TuningOperands>>
  create(const Artifact &artifact, Range steps, const BufferPlaces &memory,
         TuningBench &bench);

  cuda::Pointer resolve(const BufferRow &buffer,
                        absl::Span<const int64_t> counters) const override;

private:
  struct Block {
    Space space;
    uint32_t index;
    uint64_t begin, end; ///< In the space's memory.
    DType dtype;
    bool isWritten;
    Owned<cuda::Pointer> memory;
  };

  explicit TuningOperands(const BufferPlaces &memory) : memory(&memory) {}
  void add(const BufferRow &buffer, DType dtype, bool isWritten);

  const BufferPlaces *memory;
  std::vector<Block> blocks;
};

} // namespace tprt

#endif // TPRT_CUDA_TUNINGOPERANDS_H
