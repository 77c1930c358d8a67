// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file From whole tensors to the block a rank holds, and back.
///
/// A tensor of the program is distributed in flat blocks (ArtifactFormat.h). On
/// a mesh of model=2, a dimension of 5 gives rank 0 elements 0..2 and rank 1
/// elements 3..4 and one of padding, which is zero.

#ifndef TPRT_CORE_WEIGHTS_H
#define TPRT_CORE_WEIGHTS_H

#include "runtime/Core/Artifact.h"
#include "runtime/Core/Safetensors.h"

#include "absl/status/status.h"

namespace tprt {

/// Fills the rank's block of an input from its stored tensor, as SourceRow
/// says: only the bytes of that block are touched. The type is converted
/// between floats; the shape must be the one the program was compiled for.
absl::Status loadSource(const Artifact &artifact, const InputRow &input,
                        int64_t rank, const StoredTensor &tensor, char *block);

/// Cuts the rank's block out of a whole tensor of the same type.
void scatterBlock(const Artifact &artifact, Range dims, DType dtype,
                  int64_t rank, const char *whole, char *block);

/// Puts the rank's block, less its padding, into the whole tensor.
void gatherBlock(const Artifact &artifact, Range dims, DType dtype,
                 int64_t rank, const char *block, char *whole);

/// Fills the rank's block with numbers that depend only on the seed and on the
/// place in the whole tensor, so that every way to cut it holds the same one.
/// Floats lie in (-scale, scale), integers are 0 .. 7.
void fillRandom(const Artifact &artifact, Range dims, DType dtype, int64_t rank,
                uint64_t seed, float scale, int threads, char *block);

} // namespace tprt

#endif // TPRT_CORE_WEIGHTS_H
