// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Memory at 64-byte alignment. If it cannot be allocated, the caller
/// gets an error, and no exception is thrown.

#ifndef TPRT_CORE_ALIGNEDBUFFER_H
#define TPRT_CORE_ALIGNEDBUFFER_H

#include "runtime/Core/Errors.h"

#include "absl/status/statusor.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <sys/mman.h>

namespace tprt {

class AlignedBuffer {
public:
  AlignedBuffer() = default;

  static absl::StatusOr<AlignedBuffer> create(uint64_t size,
                                              bool isZeroed = true) {
    // Large buffers use pages of 2 MiB: touching a page of 4 KiB for the first
    // time takes longer than filling it.
    constexpr uint64_t hugePage = 1 << 21;
    bool isHuge = size >= 4 * hugePage;
    uint64_t alignment = isHuge ? hugePage : 64;
    AlignedBuffer buffer;
    // Allocate at least one cache line, so that an empty tensor has an address.
    uint64_t padded = (size / alignment + 1) * alignment;
    if (padded > size)
      buffer.memory.reset(
          static_cast<char *>(std::aligned_alloc(alignment, padded)));
    if (buffer.memory && isHuge) // if this fails, pages stay small
      (void)::madvise(buffer.memory.get(), padded, MADV_HUGEPAGE);
    if (!buffer.memory)
      return makeError(ErrorCode::OutOfMemory, "cannot allocate ", size,
                       " bytes: use more devices, or a smaller batch or cache");
    if (isZeroed)
      std::memset(buffer.memory.get(), 0, padded);
    buffer.bytes = size;
    return buffer;
  }

  char *data() const { return memory.get(); }
  absl::string_view view() const { return {memory.get(), bytes}; }
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
