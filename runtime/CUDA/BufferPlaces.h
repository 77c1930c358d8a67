// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The addresses of the steps' buffers: in the memory of a program, or in
/// separate memory while steps are timed.

#ifndef TPRT_CUDA_BUFFERPLACES_H
#define TPRT_CUDA_BUFFERPLACES_H

#include "runtime/CUDA/Driver.h"
#include "runtime/Core/Artifact.h"

namespace tprt {

class BufferPlaces {
public:
  virtual ~BufferPlaces() = default;
  /// Returns the address of a buffer in the given iteration of each loop.
  virtual cuda::Pointer resolve(const BufferRow &buffer,
                                absl::Span<const int64_t> counters) const = 0;
};

} // namespace tprt

#endif // TPRT_CUDA_BUFFERPLACES_H
