// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Protects a program's standard descriptors, before anything else runs.

#ifndef TPRT_CORE_STANDARDSTREAMS_H
#define TPRT_CORE_STANDARDSTREAMS_H

#include <fcntl.h>

namespace tprt {

/// Opens /dev/null for standard descriptors that are closed, so that no file
/// opened later gets one of their numbers and is written to as if it were
/// stdout. Reading and writing still fail, as /dev/null is opened for the
/// opposite direction.
inline void occupyStandardStreams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) < 0)
      (void)::open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
}

} // namespace tprt

#endif // TPRT_CORE_STANDARDSTREAMS_H
