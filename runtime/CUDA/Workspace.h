// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The size of cuBLASLt's workspace, which the runtime allocates and the
/// compiler includes in its reports.

#ifndef TPRT_CUDA_WORKSPACE_H
#define TPRT_CUDA_WORKSPACE_H

#include <cstddef>

namespace tprt {

/// The bytes of workspace that each rank allocates once if it computes matrix
/// products.
inline constexpr size_t kBlasWorkspace = 32 << 20;

} // namespace tprt

#endif // TPRT_CUDA_WORKSPACE_H
