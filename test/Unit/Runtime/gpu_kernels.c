// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Kernels of a GPU as test/Emulation makes them, written by hand: each does
// what one thread of a block does. Launches have one block of 32 threads.

#include <stdint.h>

// What the emulator fills; these kernels call nothing.
void *tpEmulatorCalls[32];

#define THREADS 32
#define KERNEL(name)                                                           \
  int32_t name(void *const *operands, const int64_t *scalars, int64_t block,   \
               int64_t thread)

// operands[1][i] = operands[0][i] + scalars[0], of scalars[1] elements.
KERNEL(add_scalar) {
  const float *from = operands[0];
  float *to = operands[1];
  for (int64_t i = thread; i < scalars[1]; i += THREADS)
    to[i] = from[i] + (float)scalars[0];
  return 0;
}

// operands[1] = (operands[0] is not 0), then counts operands[0] down.
KERNEL(count_down) {
  int32_t *count = operands[0];
  uint8_t *isPositive = operands[1];
  if (thread == 0) {
    *isPositive = *count > 0;
    --*count;
  }
  return 0;
}

// The sum of `ranks` sources, in order; scalars[0] elements.
#define COMBINE(name, type, ranks)                                             \
  KERNEL(name) {                                                               \
    type *to = operands[ranks];                                                \
    for (int64_t i = thread; i < scalars[0]; i += THREADS) {                   \
      type sum = ((const type *)operands[0])[i];                               \
      for (int r = 1; r < ranks; ++r)                                          \
        sum += ((const type *)operands[r])[i];                                 \
      to[i] = sum;                                                             \
    }                                                                          \
    return 0;                                                                  \
  }
COMBINE(combine2, float, 2)
COMBINE(combine3, float, 3)
