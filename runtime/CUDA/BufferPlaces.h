// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Where the buffers of steps lie: in a program's memory, or where steps
/// are timed.

#ifndef TPRT_CUDA_BUFFERPLACES_H
#define TPRT_CUDA_BUFFERPLACES_H

#include "runtime/CUDA/Driver.h"
#include "runtime/Core/Artifact.h"

namespace tprt {

class BufferPlaces {
public:
  virtual ~BufferPlaces() = default;
  /// Where a buffer lies, with the loops at these trips.
  virtual cuda::Pointer resolve(const BufferRow &buffer,
                                absl::Span<const int64_t> counters) const = 0;
};

} // namespace tprt

#endif // TPRT_CUDA_BUFFERPLACES_H
