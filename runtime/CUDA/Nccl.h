// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The part of NCCL (libnccl.so.2, 2.18 or later) that the runtime uses.

#ifndef TPRT_CUDA_NCCL_H
#define TPRT_CUDA_NCCL_H

#include "runtime/CUDA/Library.h"

#include <climits>
#include <cstddef>
#include <type_traits>

// NVIDIA's names. NOLINTBEGIN(readability-identifier-naming)
struct CUstream_st;
struct ncclComm;
struct ncclWindow_vidmem;
// NOLINTEND(readability-identifier-naming)

namespace tprt {

namespace nccl {
using Result = int;
using Comm = ncclComm *;
using Window = ncclWindow_vidmem *;
using Stream = CUstream_st *;

inline constexpr Result kSuccess = 0, kRemoteError = 6, kInProgress = 7;

/// Identifies a set of ranks that are connected to each other.
struct UniqueId {
  char bytes[128];
};

// Types of elements.
inline constexpr int kInt8 = 0, kUint8 = 1, kInt32 = 2, kUint32 = 3, kInt64 = 4,
                     kUint64 = 5, kFloat16 = 6, kFloat32 = 7, kFloat64 = 8,
                     kBfloat16 = 9;
// Reductions.
inline constexpr int kSum = 0, kMax = 2, kMin = 3;

inline constexpr int kWindowSymmetric = 1;

/// The configuration as of 2.18, plus one member: 2.26 reads what follows
/// splitShare as its trafficClass, without looking at `version`. Later versions
/// read only as much as `size` says, which is 48 with and without that member.
/// Fields that are not set hold INT_MIN or null.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = INT_MIN;
  int clusterSize = INT_MIN;
  int minBlocks = INT_MIN;
  int maxBlocks = INT_MIN;
  const char *netName = nullptr;
  int splitShare = INT_MIN;
  int trafficClass = INT_MIN;
};
static_assert(sizeof(Config) == 48 &&
                  std::has_unique_object_representations_v<Config>,
              "NCCL would read padding");
} // namespace nccl

// clang-format off
#define TPRT_NCCL_FUNCTIONS(F)                                                 \
  F(getErrorString, ncclGetErrorString, const char *(nccl::Result))            \
  F(getUniqueId, ncclGetUniqueId, nccl::Result(nccl::UniqueId *))              \
  F(init, ncclCommInitRankConfig, nccl::Result(nccl::Comm *, int, nccl::UniqueId, int, nccl::Config *)) \
  F(split, ncclCommSplit, nccl::Result(nccl::Comm, int, int, nccl::Comm *, nccl::Config *)) \
  F(abort, ncclCommAbort, nccl::Result(nccl::Comm))                            \
  F(finalize, ncclCommFinalize, nccl::Result(nccl::Comm))                      \
  F(destroy, ncclCommDestroy, nccl::Result(nccl::Comm))                        \
  F(getAsyncError, ncclCommGetAsyncError, nccl::Result(nccl::Comm, nccl::Result *)) \
  F(groupStart, ncclGroupStart, nccl::Result())                                \
  F(groupEnd, ncclGroupEnd, nccl::Result())                                    \
  F(allReduce, ncclAllReduce, nccl::Result(const void *, void *, size_t, int, int, nccl::Comm, nccl::Stream)) \
  F(allGather, ncclAllGather, nccl::Result(const void *, void *, size_t, int, nccl::Comm, nccl::Stream)) \
  F(reduceScatter, ncclReduceScatter, nccl::Result(const void *, void *, size_t, int, int, nccl::Comm, nccl::Stream)) \
  F(send, ncclSend, nccl::Result(const void *, size_t, int, int, nccl::Comm, nccl::Stream)) \
  F(receive, ncclRecv, nccl::Result(void *, size_t, int, int, nccl::Comm, nccl::Stream))

/// Functions that may be missing: NCCL has some of them only since version
/// 2.19, 2.27 or 2.28. Every version has ncclGetLastError, but a library
/// without it is accepted, too.
#define TPRT_NCCL_OPTIONAL_FUNCTIONS(F)                                        \
  F(getLastError, ncclGetLastError, const char *(nccl::Comm))                  \
  F(memAlloc, ncclMemAlloc, nccl::Result(void **, size_t))                     \
  F(memFree, ncclMemFree, nccl::Result(void *))                                \
  F(registerWindow, ncclCommWindowRegister, nccl::Result(nccl::Comm, void *, size_t, nccl::Window *, int)) \
  F(deregisterWindow, ncclCommWindowDeregister, nccl::Result(nccl::Comm, nccl::Window)) \
  F(allToAll, ncclAlltoAll, nccl::Result(const void *, void *, size_t, int, nccl::Comm, nccl::Stream))
// clang-format on

struct Nccl {
  TPRT_NCCL_FUNCTIONS(TPRT_LIBRARY_MEMBER)
  TPRT_NCCL_OPTIONAL_FUNCTIONS(TPRT_LIBRARY_MEMBER)

  absl::Status check(nccl::Result result, absl::string_view what) const;
};

absl::StatusOr<const Nccl *> openNccl();

} // namespace tprt

#endif // TPRT_CUDA_NCCL_H
