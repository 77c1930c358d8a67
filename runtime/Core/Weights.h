// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Conversion between whole tensors and the blocks that ranks hold.
///
/// A tensor of the program is distributed in flat blocks (ArtifactFormat.h). On
/// a mesh of model=2, a dimension of 5 gives rank 0 elements 0..2, and rank 1
/// elements 3..4 and one element of padding, which is zero.

#ifndef TPRT_CORE_WEIGHTS_H
#define TPRT_CORE_WEIGHTS_H

#include "runtime/Core/Artifact.h"
#include "runtime/Core/Safetensors.h"

#include "absl/status/status.h"

namespace tprt {

/// Fills the rank's block of an input from stored tensors, one for each of its
/// sources, as SourceRow says. Little more than the bytes of that block is
/// read. Float types are converted to each other; shapes must be those that the
/// program was compiled for.
absl::Status loadSources(const Artifact &artifact, const InputRow &input,
                         int64_t rank, absl::Span<const TensorReader> tensors,
                         char *block);

/// Fills the rank's block of an input that has no sources. `tensor` holds the
/// whole input.
absl::Status loadWhole(const Artifact &artifact, const InputRow &input,
                       int64_t rank, const TensorReader &tensor, char *block);

/// The bytes of a stored tensor that is being assembled.
struct StoredBytes {
  DType dtype;
  char *data;
};

/// The inverse of loadSources: writes the whole value of an input to the
/// positions that its sources specify, in one tensor for each source.
void storeSources(const Artifact &artifact, const InputRow &input,
                  const char *whole, absl::Span<const StoredBytes> tensors);

/// Copies the rank's block out of a whole tensor of the same type.
void scatterBlock(const Artifact &artifact, Range dims, DType dtype,
                  int64_t rank, const char *whole, char *block);

/// Copies the rank's block, without its padding, into the whole tensor.
void gatherBlock(const Artifact &artifact, Range dims, DType dtype,
                 int64_t rank, const char *block, char *whole);

/// Rows of a rank's block: element j of row i is at block + i * blockStride + j
/// of the block, and at whole + i * wholeStride + j of the whole tensor.
struct BlockRows {
  int64_t rows, columns;
  int64_t block, blockStride;
  int64_t whole, wholeStride;
};

/// Describes the rank's block, without its padding, with as few BlockRows as
/// possible.
std::vector<BlockRows> getBlockRows(const Artifact &artifact, Range dims,
                                    int64_t rank);

/// Fills the rank's block with numbers that depend only on the seed and on the
/// position in the whole tensor, so that every way to split the tensor gives
/// the same numbers. Floats are in (-scale, scale), integers are 0 .. 7.
void fillRandom(const Artifact &artifact, Range dims, DType dtype, int64_t rank,
                uint64_t seed, float scale, int threads, char *block);
/// Fills some rows of a block with the same numbers as when the whole block is
/// filled. The rest of the block stays unchanged.
void fillRandom(const BlockRows &rows, DType dtype, uint64_t seed, float scale,
                int threads, char *block);

} // namespace tprt

#endif // TPRT_CORE_WEIGHTS_H
