// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// In every program of the sanitizer build. LLVM's allocators are inlined, so
// that an instrumented caller poisons a slab from which libMLIR.so, which is
// not instrumented, goes on to allocate: poisoning by hand is ignored. And an
// allocation that is too large is to fail as it does without sanitizers.
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:allocator_may_return_null=1";
}
