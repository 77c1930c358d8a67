// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The part of the CUDA driver (libcuda.so.1) that the runtime uses.
/// libcudart is not needed.

#ifndef TPRT_CUDA_DRIVER_H
#define TPRT_CUDA_DRIVER_H

#include "runtime/CUDA/Library.h"

#include <cstddef>
#include <cstdint>

// NVIDIA's names. NOLINTBEGIN(readability-identifier-naming)
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
// NOLINTEND(readability-identifier-naming)

namespace tprt {

namespace cuda {
using Result = int;
using Device = int;
using Pointer = unsigned long long; ///< An address in a device's memory.
using Context = CUctx_st *;
using Module = CUmod_st *;
using Function = CUfunc_st *;
using Stream = CUstream_st *;
using Event = CUevent_st *;
using Graph = CUgraph_st *;
using GraphExec = CUgraphExec_st *;

inline constexpr Result kSuccess = 0;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kNotReady = 600;

inline constexpr int kCacheBytes = 38; ///< Device attribute: L2 size.
inline constexpr int kMajor = 75;
inline constexpr int kMinor = 76;

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr int kCaptureThreadLocal = 1;
/// Kernels of a graph keep the priority of the stream they were captured from.
inline constexpr unsigned long long kUseNodePriority = 8;
/// Attribute of a function: the bytes of dynamic shared memory that a launch
/// may ask for.
inline constexpr int kMaxDynamicShared = 8;
} // namespace cuda

// clang-format off
#define TPRT_DRIVER_FUNCTIONS(F)                                               \
  F(getErrorString, cuGetErrorString, cuda::Result(cuda::Result, const char **)) \
  F(init, cuInit, cuda::Result(unsigned))                                      \
  F(getVersion, cuDriverGetVersion, cuda::Result(int *))                       \
  F(getDeviceCount, cuDeviceGetCount, cuda::Result(int *))                     \
  F(getDevice, cuDeviceGet, cuda::Result(cuda::Device *, int))                 \
  F(getDeviceName, cuDeviceGetName, cuda::Result(char *, int, cuda::Device))   \
  F(getAttribute, cuDeviceGetAttribute, cuda::Result(int *, int, cuda::Device)) \
  F(retainContext, cuDevicePrimaryCtxRetain, cuda::Result(cuda::Context *, cuda::Device)) \
  F(releaseContext, cuDevicePrimaryCtxRelease_v2, cuda::Result(cuda::Device))  \
  F(setContext, cuCtxSetCurrent, cuda::Result(cuda::Context))                  \
  F(getPriorities, cuCtxGetStreamPriorityRange, cuda::Result(int *, int *))    \
  F(loadModule, cuModuleLoadData, cuda::Result(cuda::Module *, const void *))  \
  F(unloadModule, cuModuleUnload, cuda::Result(cuda::Module))                  \
  F(getFunction, cuModuleGetFunction, cuda::Result(cuda::Function *, cuda::Module, const char *)) \
  F(setFunctionAttribute, cuFuncSetAttribute, cuda::Result(cuda::Function, int, int)) \
  F(launch, cuLaunchKernel, cuda::Result(cuda::Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cuda::Stream, void **, void **)) \
  F(getMemoryInfo, cuMemGetInfo_v2, cuda::Result(size_t *, size_t *))          \
  F(allocate, cuMemAlloc_v2, cuda::Result(cuda::Pointer *, size_t))            \
  F(free, cuMemFree_v2, cuda::Result(cuda::Pointer))                           \
  F(allocateHost, cuMemAllocHost_v2, cuda::Result(void **, size_t))            \
  F(freeHost, cuMemFreeHost, cuda::Result(void *))                             \
  F(copyToDevice, cuMemcpyHtoDAsync_v2, cuda::Result(cuda::Pointer, const void *, size_t, cuda::Stream)) \
  F(copyToHost, cuMemcpyDtoHAsync_v2, cuda::Result(void *, cuda::Pointer, size_t, cuda::Stream)) \
  F(copy, cuMemcpyDtoDAsync_v2, cuda::Result(cuda::Pointer, cuda::Pointer, size_t, cuda::Stream)) \
  F(set8, cuMemsetD8Async, cuda::Result(cuda::Pointer, unsigned char, size_t, cuda::Stream)) \
  F(set16, cuMemsetD16Async, cuda::Result(cuda::Pointer, unsigned short, size_t, cuda::Stream)) \
  F(set32, cuMemsetD32Async, cuda::Result(cuda::Pointer, unsigned, size_t, cuda::Stream)) \
  F(createStream, cuStreamCreateWithPriority, cuda::Result(cuda::Stream *, unsigned, int)) \
  F(destroyStream, cuStreamDestroy_v2, cuda::Result(cuda::Stream))             \
  F(queryStream, cuStreamQuery, cuda::Result(cuda::Stream))                    \
  F(waitEvent, cuStreamWaitEvent, cuda::Result(cuda::Stream, cuda::Event, unsigned)) \
  F(createEvent, cuEventCreate, cuda::Result(cuda::Event *, unsigned))         \
  F(destroyEvent, cuEventDestroy_v2, cuda::Result(cuda::Event))                \
  F(recordEvent, cuEventRecord, cuda::Result(cuda::Event, cuda::Stream))       \
  F(queryEvent, cuEventQuery, cuda::Result(cuda::Event))                       \
  F(getElapsed, cuEventElapsedTime, cuda::Result(float *, cuda::Event, cuda::Event)) \
  F(beginCapture, cuStreamBeginCapture_v2, cuda::Result(cuda::Stream, int))    \
  F(endCapture, cuStreamEndCapture, cuda::Result(cuda::Stream, cuda::Graph *)) \
  F(instantiate, cuGraphInstantiateWithFlags, cuda::Result(cuda::GraphExec *, cuda::Graph, unsigned long long)) \
  F(launchGraph, cuGraphLaunch, cuda::Result(cuda::GraphExec, cuda::Stream))   \
  F(destroyGraph, cuGraphDestroy, cuda::Result(cuda::Graph))                   \
  F(destroyGraphExec, cuGraphExecDestroy, cuda::Result(cuda::GraphExec))
// clang-format on

struct Driver {
  TPRT_DRIVER_FUNCTIONS(TPRT_LIBRARY_MEMBER)

  /// Converts a failure to an error that says what was tried.
  absl::Status check(cuda::Result result, absl::string_view what) const;
};

absl::StatusOr<const Driver *> openDriver();

} // namespace tprt

#endif // TPRT_CUDA_DRIVER_H
