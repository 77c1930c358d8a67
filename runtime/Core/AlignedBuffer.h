// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Zeroed memory at 64-byte alignment that can fail to be there.

#ifndef TPRT_CORE_ALIGNEDBUFFER_H
#define TPRT_CORE_ALIGNEDBUFFER_H

#include "runtime/Core/Errors.h"

#include "absl/status/statusor.h"

#include <cstdlib>
#include <cstring>
#include <memory>

namespace tprt {

class AlignedBuffer {
public:
  AlignedBuffer() = default;

  static absl::StatusOr<AlignedBuffer> create(uint64_t size) {
    constexpr uint64_t alignment = 64;
    AlignedBuffer buffer;
    // At least one line, so that an empty tensor has an address too.
    uint64_t padded = (size / alignment + 1) * alignment;
    if (padded > size)
      buffer.memory.reset(
          static_cast<char *>(std::aligned_alloc(alignment, padded)));
    if (!buffer.memory)
      return makeError(ErrorCode::OutOfMemory, "cannot allocate ", size,
                       " bytes: use more devices, or a smaller batch or cache");
    std::memset(buffer.memory.get(), 0, padded);
    buffer.bytes = size;
    return buffer;
  }

  char *data() const { return memory.get(); }
  uint64_t size() const { return bytes; }

private:
  struct Free {
    void operator()(char *memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> memory;
  uint64_t bytes = 0;
};

} // namespace tprt

#endif // TPRT_CORE_ALIGNEDBUFFER_H
