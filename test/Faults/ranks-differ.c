/* Part of the tp-opt project, under the Apache License v2.0 with LLVM
   Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/** \file Two processes that make different calls of the C interface.
 *
 *      mpirun -n 2 tprt-ranks-differ PROGRAM.tpx WHAT
 *
 *  WHAT is what the second process does otherwise: `nothing`, `value` in the
 *  second run, `local` (the same, of an input that is each process's own),
 *  `agree`, `output` (it reads another), `early` (it closes before the run).
 *  PROGRAM has an f32 input "x" of 8 elements and outputs "y" and "z" of 8.
 */

#include "tprt/tprt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tprt_session *session;

/** Ends like tp-run where a call fails. */
static void check(tprt_status status) {
  if (status == 0)
    return;
  fprintf(stderr, "error: %s\n", tprt_error(session));
  tprt_close(session);
  exit(tprt_exit_code(status));
}

static void bindX(float first, int isLocal) {
  const int64_t shape[1] = {8};
  float values[8];
  tprt_tensor x = {sizeof(x), TPRT_F32, 1, shape, values, sizeof(values)};
  for (int i = 0; i < 8; ++i)
    values[i] = first + (float)i;
  check(isLocal ? tprt_bind_local(session, "x", &x)
                : tprt_bind(session, "x", &x));
}

int main(int argc, char **argv) {
  const char *rank = getenv("OMPI_COMM_WORLD_RANK");
  const char *what = argc > 2 ? argv[2] : "nothing";
  int differs = rank && strcmp(rank, "1") == 0;
  int isLocal = strcmp(what, "local") == 0;
  tprt_options options;
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  options.transport = "mpi";
  options.timeout_s = 5;
  check(tprt_open(argv[1], &options, &session));
  bindX(0, isLocal);
  if (strcmp(what, "agree") == 0)
    check(tprt_agree(session, "the data set", differs ? "test" : "train"));
  if (strcmp(what, "early") == 0 && differs)
    return tprt_exit_code(tprt_close(session));
  for (int run = 0; run < 3; ++run) {
    if (run == 1 && differs && (isLocal || strcmp(what, "value") == 0))
      bindX(100, isLocal);
    else
      bindX(0, isLocal);
    check(tprt_run(session, "main"));
    check(tprt_sync(session, -1));
  }
  float y[8];
  int readsOther = differs && strcmp(what, "output") == 0;
  check(tprt_read(session, readsOther ? "z" : "y", y, sizeof(y)));
  tprt_status status = tprt_close(session);
  printf("closed with %d\n", (int)status);
  return tprt_exit_code(status);
}
