// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Bytes to a descriptor, all of them.

#ifndef TPRT_CORE_WRITEALL_H
#define TPRT_CORE_WRITEALL_H

#include "absl/strings/string_view.h"

#include <cerrno>
#include <unistd.h>

namespace tprt {

/// Writes on where a call wrote a part or was interrupted. False, with errno
/// set, if it cannot.
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
