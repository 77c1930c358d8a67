// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The kernels of an artifact: its object code opened as a library.

#ifndef TPRT_CPU_KERNELLIBRARY_H
#define TPRT_CPU_KERNELLIBRARY_H

#include "runtime/Core/Artifact.h"

#include <memory>
#include <vector>

namespace tprt {

using KernelFunction = int32_t (*)(void *const *buffers, const int64_t *scalars,
                                   int64_t rowBegin, int64_t rowEnd);

class KernelLibrary {
public:
  /// Checks the CPU first, then opens the shared object from memory: nothing is
  /// left in the file system, whatever happens.
  static absl::StatusOr<KernelLibrary> load(const Artifact &artifact);

  KernelFunction get(uint32_t kernel) const { return functions[kernel]; }

private:
  struct Close {
    void operator()(void *handle) const;
  };
  std::unique_ptr<void, Close> handle;
  std::vector<KernelFunction> functions;
};

} // namespace tprt

#endif // TPRT_CPU_KERNELLIBRARY_H
