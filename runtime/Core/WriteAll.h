// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Writes a range of bytes to a descriptor completely.

#ifndef TPRT_CORE_WRITEALL_H
#define TPRT_CORE_WRITEALL_H

#include "absl/strings/string_view.h"

#include <cerrno>
#include <unistd.h>

namespace tprt {

/// Continues when a call writes only a part or is interrupted. Returns false,
/// with errno set, on failure.
inline bool writeAll(int descriptor, absl::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR)
      return false;
    bytes.remove_prefix(written < 0 ? 0 : written);
  }
  return true;
}

} // namespace tprt

#endif // TPRT_CORE_WRITEALL_H
