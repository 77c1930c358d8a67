// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Names of what runs, for NVIDIA's profilers.
///
/// Nsight Systems says in NVTX_INJECTION64_PATH which library listens. NVTX,
/// which is headers alone, hands that library a table of places and calls the
/// functions that it puts there. So does this, without the headers, which a
/// test compares it with where they are installed. Where nobody listens, a
/// range costs a comparison.

#ifndef TPRT_CUDA_PROFILERRANGE_H
#define TPRT_CUDA_PROFILERRANGE_H

#include "absl/strings/string_view.h"

#include <cstddef>
#include <cstdint>

namespace tprt {

namespace nvtx {
using Function = void (*)();
/// Places of functions, by number.
using Functions = Function **;

/// The table that gives a module's functions, and a module.
inline constexpr uint32_t kCallbacks = 1;
inline constexpr int kCore = 1;
/// Functions of that module: to begin a range of the calling thread and to end
/// it, and how many there are.
inline constexpr int kPush = 9, kPop = 11, kNumCore = 16;

struct Callbacks {
  size_t size;
  int (*getFunctions)(int module, Functions *functions, unsigned *count);
};
using GetTable = const void *(uint32_t table);
/// What the library has, as InitializeInjectionNvtx2.
using Listen = int(GetTable *);
} // namespace nvtx

/// A range of the calling thread, for as long as it lives.
class ProfilerRange {
public:
  explicit ProfilerRange(absl::string_view name);
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange &) = delete;
  ProfilerRange &operator=(const ProfilerRange &) = delete;
};

} // namespace tprt

#endif // TPRT_CUDA_PROFILERRANGE_H
