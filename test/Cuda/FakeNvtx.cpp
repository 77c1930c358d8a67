// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a profiler of NVIDIA's puts in a process that NVTX_INJECTION64_PATH
// names it to: it records the ranges that it hears of.

#include "FakeGpu.h"

#include "runtime/CUDA/ProfilerRange.h"

namespace nvtx = tprt::nvtx;

static int push(const char *name) {
  fakegpu::record(std::string("range ") + name);
  return 0;
}

static int pop() {
  fakegpu::record("end of a range");
  return 0;
}

extern "C" int InitializeInjectionNvtx2(nvtx::GetTable *getTable) {
  auto *callbacks =
      static_cast<const nvtx::Callbacks *>(getTable(nvtx::kCallbacks));
  nvtx::Functions functions = nullptr;
  unsigned count = 0;
  if (!callbacks || callbacks->size < sizeof(nvtx::Callbacks) ||
      callbacks->getFunctions(nvtx::kCore, &functions, &count) != 1 ||
      count <= nvtx::kPop)
    return 0;
  *functions[nvtx::kPush] = reinterpret_cast<nvtx::Function>(push);
  *functions[nvtx::kPop] = reinterpret_cast<nvtx::Function>(pop);
  return 1;
}
