// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Names of the running steps, for NVIDIA's profilers.
///
/// Nsight Systems puts the name of its listening library into
/// NVTX_INJECTION64_PATH. NVTX, which consists of headers only, passes that
/// library a table with places for functions, and calls the functions that the
/// library stores there. This file does the same without the headers. If the
/// headers are installed, a test compares this file with them. If no profiler
/// listens, a range costs one comparison.

#ifndef TPRT_CUDA_PROFILERRANGE_H
#define TPRT_CUDA_PROFILERRANGE_H

#include "absl/strings/string_view.h"

#include <cstddef>
#include <cstdint>

namespace tprt {

namespace nvtx {
using Function = void (*)();
/// Pointers to the places where functions are stored, indexed by the number of
/// the function.
using Functions = Function **;

/// The numbers that NVTX uses for the table Callbacks and for NVTX's core
/// module.
inline constexpr uint32_t kCallbacks = 1;
inline constexpr int kCore = 1;
/// Of NVTX's core module: the indices of the functions that begin and end a
/// range on the calling thread, and the number of all functions.
inline constexpr int kPush = 9, kPop = 11, kNumCore = 16;

struct Callbacks {
  size_t size;
  int (*getFunctions)(int module, Functions *functions, unsigned *count);
};
using GetTable = const void *(uint32_t table);
/// The type of InitializeInjectionNvtx2 in the listening library.
using Listen = int(GetTable *);
} // namespace nvtx

/// A named range of the calling thread in the profiler's timeline. It begins
/// when this object is constructed and ends when it is destroyed.
class ProfilerRange {
public:
  explicit ProfilerRange(absl::string_view name);
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange &) = delete;
  ProfilerRange &operator=(const ProfilerRange &) = delete;
};

} // namespace tprt

#endif // TPRT_CUDA_PROFILERRANGE_H
