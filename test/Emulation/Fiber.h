// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Threads of control that take turns in one thread of the operating system.
// On x86-64 a switch is a few instructions; ucontext asks the kernel for the
// signal mask each time, which takes a hundred times as long.

#ifndef TPOPT_TEST_EMULATION_FIBER_H
#define TPOPT_TEST_EMULATION_FIBER_H

#include <cstddef>

#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace emulation {

class Fiber {
public:
  /// Makes the next `switchTo` begin with `entry`, which never returns, on the
  /// stack that ends at `stack + bytes`.
  void prepare(void (*entry)(), char *stack, size_t bytes);
  /// Continues `next`, until something switches back to this one.
  void switchTo(Fiber &next);

private:
#ifdef __x86_64__
  void *stackPointer = nullptr;
#else
  ucontext_t context;
#endif
};

} // namespace emulation

#endif // TPOPT_TEST_EMULATION_FIBER_H
