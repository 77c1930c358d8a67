// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Kernels as the compiler emits them, written by hand for the runtime's tests:
// each sees resolved buffers, its scalars, and the rows it works on.

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define KERNEL(name)                                                           \
  int32_t name(void *const *buffers, const int64_t *scalars, int64_t rowBegin, \
               int64_t rowEnd)

// buffers[1][r] = buffers[0][r] + scalars[0]
KERNEL(add_scalar) {
  const float *from = buffers[0];
  float *to = buffers[1];
  for (int64_t r = rowBegin; r < rowEnd; ++r)
    to[r] = from[r] + (float)scalars[0];
  return 0;
}

// The scalars, as a record of what the kernel was given.
KERNEL(record_scalars) {
  int64_t *to = buffers[0];
  for (int64_t r = rowBegin; r < rowEnd; ++r)
    to[r] = scalars[r];
  return 0;
}

// buffers[1] = (buffers[0] is not 0), then counts buffers[0] down.
KERNEL(count_down) {
  int32_t *count = buffers[0];
  uint8_t *isPositive = buffers[1];
  *isPositive = *count > 0;
  --*count;
  return 0;
}

// Fails with scalars[2] where scalars[0] is scalars[1].
KERNEL(fail_at) { return scalars[0] == scalars[1] ? (int32_t)scalars[2] : 0; }

// Sleeps scalars[2] milliseconds where scalars[0] is scalars[1].
KERNEL(sleep_at) {
  struct timespec pause = {scalars[2] / 1000, scalars[2] % 1000 * 1000000};
  if (scalars[0] == scalars[1])
    nanosleep(&pause, 0);
  return 0;
}

// Ends its process without a word where scalars[0] is scalars[1]; the file
// $TPRT_TEST_MARK tells when.
KERNEL(die_at) {
  if (scalars[0] != scalars[1])
    return 0;
  const char *mark = getenv("TPRT_TEST_MARK");
  if (mark)
    close(creat(mark, 0666));
  kill(getpid(), SIGKILL);
  return 0;
}

// A toy language model over a vocabulary of scalars[1]: writes the logits of
// the token after the last one, which is its successor plus the sum of all
// tokens seen so far, kept in the cache.
//
//   buffers: tokens (int32), length or position (int32), cache, logits
//   scalars[0]: 1 to start anew (prefill), 0 to go on (decode)
KERNEL(toy_model) {
  const int32_t *tokens = buffers[0];
  int32_t length = *(const int32_t *)buffers[1];
  int32_t *cache = buffers[2];
  float *logits = buffers[3];
  int64_t vocabulary = scalars[1];
  int32_t count = scalars[0] ? length : 1;
  if (scalars[0])
    cache[0] = 0;
  for (int32_t i = 0; i < count; ++i)
    cache[0] += tokens[i];
  // The cache remembers where it stands, so that a wrong position shows.
  if (!scalars[0] && cache[1] != length)
    return 1;
  cache[1] = scalars[0] ? length : length + 1;
  int64_t next = (tokens[count - 1] + 1 + cache[0]) % vocabulary;
  for (int64_t i = 0; i < vocabulary; ++i)
    logits[i] = i == next ? 5.0f : -fabsf((float)(i - next)) / vocabulary;
  return 0;
}
