// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Fiber.h"

#include <cstdint>

using namespace emulation;

#ifdef __x86_64__

extern "C" void tpSwitchStack(void **from, void *to);

// Registers that a callee preserves lie on the stack that is left.
asm(R"(
  .text
  .p2align 4
  .hidden tpSwitchStack
  .globl tpSwitchStack
  .type tpSwitchStack, @function
tpSwitchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size tpSwitchStack, .-tpSwitchStack
)");

void Fiber::prepare(void (*entry)(), char *stack, size_t bytes) {
  constexpr size_t kRegisters = 6;
  auto end = reinterpret_cast<uintptr_t>(stack + bytes) / 16 * 16;
  // The entry stands where it would after a call: 8 bytes off the alignment.
  auto *words = reinterpret_cast<void **>(end - 16);
  *words = reinterpret_cast<void *>(entry);
  stackPointer = words - kRegisters;
}

void Fiber::switchTo(Fiber &next) {
  tpSwitchStack(&stackPointer, next.stackPointer);
}

#else

void Fiber::prepare(void (*entry)(), char *stack, size_t bytes) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = bytes;
  context.uc_link = nullptr;
  makecontext(&context, entry, 0);
}

void Fiber::switchTo(Fiber &next) { swapcontext(&context, &next.context); }

#endif
