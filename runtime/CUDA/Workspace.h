// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What cuBLASLt may use beside its operands. The compiler counts it,
/// too.

#ifndef TPRT_CUDA_WORKSPACE_H
#define TPRT_CUDA_WORKSPACE_H

#include <cstddef>

namespace tprt {

/// Bytes, allocated once by each rank that multiplies.
inline constexpr size_t kBlasWorkspace = 32 << 20;

} // namespace tprt

#endif // TPRT_CUDA_WORKSPACE_H
