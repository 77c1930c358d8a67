// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Operands for steps that are timed before the program runs, when inputs
/// have no values and the program's memory must not be overwritten. Buffers
/// that overlap in the program's memory share one block here, filled with
/// random numbers.

#ifndef TPRT_CUDA_TUNINGOPERANDS_H
#define TPRT_CUDA_TUNINGOPERANDS_H

#include "runtime/CUDA/BufferPlaces.h"
#include "runtime/CUDA/TuningBench.h"

#include "absl/types/optional.h"

namespace tprt {

class TuningOperands final : public BufferPlaces {
public:
  /// Makes operands for these steps. For a step in a loop, these are the
  /// operands of the first iteration. If memory runs out, operands that are
  /// only read come from `memory`; returns none if it runs out for an operand
  /// that is written.
  static absl::StatusOr<absl::optional<TuningOperands>>
  create(const Artifact &artifact, Range steps, const BufferPlaces &memory,
         TuningBench &bench);

  cuda::Pointer resolve(const BufferRow &buffer,
                        absl::Span<const int64_t> counters) const override;

private:
  struct Block {
    Space space;
    uint32_t index;
    uint64_t begin, end; ///< In the memory of the space.
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
