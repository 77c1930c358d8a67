// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Memory and windows of libnccl.so.2, of 2.27 and later, on the fake GPU.

#include "FakeComm.h"

using namespace fakegpu;
using namespace fakenccl;
using nccl::Result;

extern "C" {

cuda::Result cuMemFree_v2(cuda::Pointer);

Result ncclMemAlloc(void **memory, size_t bytes) {
  FAIL_IF_TOLD()
  cuda::Pointer pointer = 0;
  if (getNumber("TPRT_FAKE_NO_WINDOWS", 0) == 2 ||
      allocate(&pointer, bytes) != cuda::kSuccess)
    return kUnhandledCudaError;
  *memory = reinterpret_cast<void *>(pointer);
  return nccl::kSuccess;
}

Result ncclMemFree(void *memory) {
  Result told = failsNow(__func__) ? kSystemError : nccl::kSuccess;
  Guard guard(getLock());
  for (const ncclComm &comm : getComms())
    if (!comm.isGone && comm.windows.count(memory) > 0)
      return fail("freeing memory that has windows");
  cuMemFree_v2(reinterpret_cast<uintptr_t>(memory));
  return told;
}

Result ncclCommWindowRegister(nccl::Comm comm, void *memory, size_t bytes,
                              nccl::Window *window, int flags) {
  FAIL_IF_TOLD()
  Guard guard(getLock());
  if (getNumber("TPRT_FAKE_NO_WINDOWS", 0) == 1)
    return kInvalidUsage;
  if (name(memory, bytes).empty() || flags != nccl::kWindowSymmetric ||
      comm->isGone || comm->launch)
    return fail("a window on what is not allocated, or of no communicator");
  record("window " + name(memory) + " of " + comm->name);
  *window = reinterpret_cast<nccl::Window>(memory);
  comm->windows.insert(memory);
  return nccl::kInProgress;
}

Result ncclCommWindowDeregister(nccl::Comm comm, nccl::Window window) {
  Result told = failsNow(__func__) ? kSystemError : nccl::kSuccess;
  Guard guard(getLock());
  if (name(window).empty() || comm->isGone)
    return fail("a window that is gone");
  comm->windows.erase(comm->windows.find(window));
  return told;
}

} // extern "C"
