// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Memory for many buffers of a few MiB each, such as weights. They are
/// allocated one after another in large chunks, which have 2 MiB pages. With
/// small pages, page walks make a decode step a tenth longer.
///
///     LargePages pages;
///     char *copy = pages.allocate(bytes);    // stays until `clear`
///
/// Buffers have an alignment of 64 bytes.

#ifndef TPRT_CORE_LARGEPAGES_H
#define TPRT_CORE_LARGEPAGES_H

#include "runtime/Core/AlignedBuffer.h"

#include <algorithm>
#include <vector>

namespace tprt {

class LargePages {
public:
  /// Returns memory that is not initialized, or OutOfMemory.
  absl::StatusOr<char *> allocate(uint64_t size) {
    // An empty buffer has an address of its own, too.
    constexpr uint64_t alignment = 64, chunk = 32 << 20;
    uint64_t padded = (size / alignment + 1) * alignment;
    if (padded < size)
      return makeError(ErrorCode::OutOfMemory, "cannot allocate ", size,
                       " bytes");
    if (padded > left) {
      TPRT_ASSIGN_OR_RETURN(AlignedBuffer buffer,
                            AlignedBuffer::create(std::max(padded, chunk),
                                                  /*isZeroed=*/false));
      left = buffer.size();
      chunks.push_back(std::move(buffer));
    }
    char *result = chunks.back().data() + chunks.back().size() - left;
    left -= padded;
    return result;
  }

  void clear() {
    chunks.clear();
    left = 0;
  }

private:
  std::vector<AlignedBuffer> chunks;
  uint64_t left = 0; ///< Of the last chunk.
};

} // namespace tprt

#endif // TPRT_CORE_LARGEPAGES_H
