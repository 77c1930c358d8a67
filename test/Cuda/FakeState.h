// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file All that the fake GPU knows, for those who pretend to be its driver.

#ifndef TPOPT_TEST_CUDA_FAKESTATE_H
#define TPOPT_TEST_CUDA_FAKESTATE_H

#include "FakeGpu.h"

#include "../Emulation/Emulator.h"

#include <cstdio>
#include <map>
#include <set>

// NVIDIA's names. NOLINTBEGIN(readability-identifier-naming)
struct CUctx_st {
  int device;
  int retained = 0; ///< How many times, less what was released.
};

struct CUfunc_st {
  std::string name;
  int parameters = 0;
  int maxThreads = 1024;    ///< Of a block, as it was compiled.
  int registers = 0;        ///< Of a thread; 0 in PTX, which has none.
  int ownShared = 0;        ///< Bytes that it has without asking.
  int maxShared = 48 << 10; ///< Of a launch, with its own.
  emulation::Kernel kernel = nullptr;
};

struct CUmod_st {
  std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};
// NOLINTEND(readability-identifier-naming)

namespace fakegpu {

/// Errors of the driver that only a fake gives on purpose.
inline constexpr cuda::Result kInvalidValue = 1, kInvalidContext = 201,
                              kInvalidImage = 200, kNoBinary = 209,
                              kInvalidHandle = 400, kNotFound = 500,
                              kUnsupportedInCapture = 900,
                              kCaptureInvalid = 901, kUnjoined = 904,
                              kCaptureIsolation = 905, kUnknown = 999;

struct Block {
  int device;
  int number;
  size_t size;
  bool isHost;
};

struct State {
  std::recursive_mutex lock;
  FILE *file = nullptr;
  bool isBroken = false; ///< By misuse.
  std::vector<CUctx_st> contexts;
  std::map<const char *, Block> blocks;
  std::map<int, size_t> used;         ///< Bytes, by device.
  std::map<std::string, int> numbers; ///< Of handles, by device and kind.
  std::set<CUstream_st *> streams;
  std::set<CUevent_st *> events;
  std::set<CUmod_st *> modules;
  std::set<CUfunc_st *> functions;
  std::set<CUgraph_st *> graphs;
  std::set<CUgraphExec_st *> executables;
  std::unique_ptr<emulation::KernelLibrary> kernels;

  State();
};

/// Never ended: libraries above may close after it.
State &get();

/// The calling thread's context, and how many captures it has begun.
extern thread_local CUctx_st *current;
extern thread_local int captures;

} // namespace fakegpu

#endif // TPOPT_TEST_CUDA_FAKESTATE_H
