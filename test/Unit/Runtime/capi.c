// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Uses the C interface from C, and returns the line of the first surprise.

#include "tprt/tprt.h"

#include <string.h>

#define EXPECT(condition)                                                      \
  if (!(condition))                                                            \
  return __LINE__

/* y = x + 100, x of 10 elements over two devices. */
int useTheRuntime(const void *artifact, size_t size) {
  tprt_session *session = 0;
  EXPECT(tprt_open("/nowhere.tpx", 0, &session) == 840);
  EXPECT(strstr(tprt_error(session), "[TP0840]") != 0);
  EXPECT(tprt_run(session, "main") == 881);
  tprt_close(session);
  EXPECT(tprt_open_bytes("junk", 4, 0, &session) == 841);
  EXPECT(tprt_exit_code(841) == 1 && tprt_exit_code(870) == 3);
  tprt_close(session);
  tprt_options options = {0};
  EXPECT(tprt_open_bytes(artifact, size, &options, &session) == 881);
  tprt_close(session);

  /* A caller of the first version has nothing where `threads` lies today. */
  options.size = offsetof(tprt_options, threads);
  options.ranks = 2;
  options.timeout_s = 20;
  options.threads = -1;
  options.tf32 = 7;
  EXPECT(tprt_open_bytes(artifact, size, &options, &session) == 0);
  tprt_close(session);
  options.size -= 1;
  EXPECT(tprt_open_bytes(artifact, size, &options, &session) == 881);
  EXPECT(strstr(tprt_error(session), "set it to sizeof(tprt_options)") != 0);
  tprt_close(session);
  options.threads = options.tf32 = 0;
  /* One of a later version knows more, and may not ask for it here. */
  struct {
    tprt_options known;
    int64_t unknown;
  } later = {options, 0};
  later.known.size = sizeof(later);
  EXPECT(tprt_open_bytes(artifact, size, &later.known, &session) == 0);
  tprt_close(session);
  later.unknown = 1;
  EXPECT(tprt_open_bytes(artifact, size, &later.known, &session) == 881);
  EXPECT(strstr(tprt_error(session), "is too old to support them") != 0);
  tprt_close(session);

  options.size = sizeof(options);
  EXPECT(tprt_open_bytes(artifact, size, &options, &session) == 0);
  EXPECT(tprt_error(session)[0] == 0);
  EXPECT(tprt_run(session, "main") == 862);
  float x[10], y[10];
  for (int i = 0; i < 10; ++i)
    x[i] = (float)i;
  int64_t shape[1] = {10};
  tprt_tensor value = {sizeof(tprt_tensor), TPRT_F32, 1, shape, x, sizeof(x)};
  EXPECT(tprt_bind(session, "x", &value) == 0);
  EXPECT(tprt_bind(session, "z", &value) == 860);
  EXPECT(tprt_bind(session, "x", 0) == 881);
  struct {
    tprt_tensor known;
    int64_t unknown;
  } wider = {value, 0};
  wider.known.size = sizeof(wider);
  EXPECT(tprt_bind(session, "x", &wider.known) == 0);
  wider.unknown = 1;
  EXPECT(tprt_bind(session, "x", &wider.known) == 881);
  wider.known.size = sizeof(size_t);
  EXPECT(tprt_bind(session, "x", &wider.known) == 881);
  wider.known.size = sizeof(tprt_tensor);
  wider.known.dtype = 99;
  EXPECT(tprt_bind(session, "x", &wider.known) == 861);
  EXPECT(tprt_run(session, "main") == 0);
  EXPECT(tprt_sync(session, -1) == 0);
  EXPECT(tprt_read(session, "y", y, 8) == 861);
  EXPECT(tprt_read(session, "y", y, sizeof(y)) == 0);
  for (int i = 0; i < 10; ++i)
    EXPECT(y[i] == x[i] + 100);
  EXPECT(tprt_bind_random(session, "x", 1) == 0);
  EXPECT(tprt_reset(session) == 0);
  EXPECT(tprt_load(session, "/nowhere") == 850);
  EXPECT(tprt_abort(session, "nothing runs") == 0);
  EXPECT(tprt_run(session, "main") == 0);
  EXPECT(tprt_sync(session, 10) == 0);
  tprt_close(session);
  tprt_close(0);
  return 0;
}
