/* Part of the tp-opt project, under the Apache License v2.0 with LLVM
   Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/** \file The C interface of the tp-opt runtime: load an artifact that tp-opt
 *  compiled, bind its inputs, run it.
 *
 *      tprt_session *session;
 *      if (tprt_open("mlp.tpx", NULL, &session) != 0 ||
 *          tprt_load(session, "mlp-weights") != 0 ||
 *          tprt_bind(session, "x", &x) != 0 ||
 *          tprt_run(session, "main") != 0 || tprt_sync(session, -1) != 0 ||
 *          tprt_read(session, "y", y, sizeof(y)) != 0)
 *        fprintf(stderr, "error: %s\n", tprt_error(session));
 *      tprt_close(session);
 *
 *  A session drives all devices of the program's mesh, as threads of this
 *  process. With transport "mpi" it drives one device, and the other processes
 *  of the job must make the same calls in the same order. Values are whole
 *  tensors, dense and row-major; the runtime splits them into the devices'
 *  blocks.
 *
 *  Errors: every call returns 0 or the number of an error, such as 843 for
 *  TP0843; `tprt_error` then returns its message. Nothing throws, aborts or
 *  exits. A failed run is final: later runs return its error again.
 *
 *  Processes: before the first run, they compare everything that affects the
 *  results: the artifact, the backend and tf32, the entry, the value of every
 *  input, and the values passed to tprt_agree. Later runs compare a digest of
 *  everything passed since then. Error 889 says which processes differ, and in
 *  which values.
 *
 *  Threads: one call at a time per session, except `tprt_abort`.
 *
 *  Versions: functions and enumerators are only added. A struct starts with its
 *  size, so that it can grow. In a struct from an older header, missing members
 *  count as 0; in one from a newer header, members that this runtime does not
 *  know must be 0.
 */

#ifndef TPRT_TPRT_H
#define TPRT_TPRT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TPRT_VERSION_MAJOR 0
#define TPRT_VERSION_MINOR 1

typedef struct tprt_session tprt_session;

/** 0, or the number of an error. */
typedef int32_t tprt_status;

/** One of the constants below. Not an enum, so that any number is a valid
 *  value, which the runtime can check. */
typedef uint32_t tprt_dtype;

enum {
  TPRT_F64 = 0,
  TPRT_F32 = 1,
  TPRT_BF16 = 2,
  TPRT_F16 = 3,
  TPRT_I64 = 4,
  TPRT_I32 = 5,
  TPRT_I16 = 6,
  TPRT_I8 = 7,
  TPRT_U64 = 8,
  TPRT_U32 = 9,
  TPRT_U16 = 10,
  TPRT_U8 = 11,
  TPRT_BOOL = 12,
  TPRT_F8E4M3FN = 13,
  TPRT_F8E5M2 = 14
};

typedef struct tprt_options {
  size_t size;           /**< sizeof(tprt_options) */
  const char *backend;   /**< "cpu", "cuda", "virtual"; NULL: "cpu" */
  const char *transport; /**< "threads", "mpi" or, between the GPUs of processes
                              that torchrun or srun started, "environment";
                              NULL: "threads" */
  int32_t ranks;         /**< number of devices that the mesh must have; 0: any
                              number */
  double timeout_s;      /**< for each collective, and for joining and leaving
                              the job; 0: 300 */
  int32_t threads;       /**< for each rank; 0: its share of the cores */
  int32_t tf32;          /**< 1: a GPU may multiply f32 as tf32, which is faster
                              and has 10 bits of fraction; 0: it may not */
} tprt_options;

typedef struct tprt_tensor {
  size_t size; /**< sizeof(tprt_tensor) */
  tprt_dtype dtype;
  int32_t rank;
  const int64_t *shape;
  const void *data;
  size_t bytes;
} tprt_tensor;

/** Opens an artifact; `options` may be NULL. An artifact holds native code,
 *  which runs in this process: open only what you would also run as a program.
 *  The whole file is read, and may change or disappear afterwards. Sets
 *  *session even on failure, so that the caller can read the message and close
 *  it; NULL only if there is no memory. With transport "environment", sets
 *  NCCL_COMM_ID until all ranks have joined: until then, no other thread may
 *  use the environment. */
tprt_status tprt_open(const char *path, const tprt_options *options,
                      tprt_session **session);
/** The same for an artifact in memory, which is copied. */
tprt_status tprt_open_bytes(const void *bytes, size_t size,
                            const tprt_options *options,
                            tprt_session **session);

/** Loads all weights from a safetensors file or a folder of such files. */
tprt_status tprt_load(tprt_session *session, const char *path);

/** Copies the value of an input. */
tprt_status tprt_bind(tprt_session *session, const char *name,
                      const tprt_tensor *value);
/** The same for a value that only this process has, such as the part of a data
 *  set that it loaded. Each device uses only its block, and the rest may differ
 *  between processes. Devices that hold the same block must get the same values
 *  there. */
tprt_status tprt_bind_local(tprt_session *session, const char *name,
                            const tprt_tensor *value);
/** Gives an input random numbers that depend only on the seed and the name. */
tprt_status tprt_bind_random(tprt_session *session, const char *name,
                             uint64_t seed);
/** Notes something else that affects the results, such as the data set and its
 *  order, or the number of runs. The values must be equal in all processes when
 *  the next run begins. */
tprt_status tprt_agree(tprt_session *session, const char *name,
                       const char *value);
/** Sets state that is kept between runs, such as caches, to zero. */
tprt_status tprt_reset(tprt_session *session);

/** Starts an entry and returns at once. */
tprt_status tprt_run(tprt_session *session, const char *entry);
/** Waits for the run to end; a negative time means no limit. Returns 881 if the
 *  run takes longer. */
tprt_status tprt_sync(tprt_session *session, double timeout_s);
/** Ends a run, from any thread; `why` becomes the error's message. */
tprt_status tprt_abort(tprt_session *session, const char *why);

/** Copies an output of the entry that ran last; `bytes` must be its size. An
 *  output that the compiler has split into parts is read as a whole, under its
 *  original name. */
tprt_status tprt_read(tprt_session *session, const char *name, void *data,
                      size_t bytes);

/** The message of the last call that failed, or "" if none has failed. Valid
 *  until the next call. */
const char *tprt_error(const tprt_session *session);
/** The exit code for a process that ends with this status: 0 fine, 1 the input
 *  is wrong, 2 a bug of tp-opt, 3 the environment failed. */
int tprt_exit_code(tprt_status status);

/** Ends a run that is under way, leaves the job and frees everything; NULL is
 *  allowed. Returns 0, or the error with which the session ended: 871 if
 *  another process did not leave within `timeout_s`.
 *
 *  A thread that is inside MPI_Init or MPI_Finalize, or in a step that does not
 *  end, cannot be stopped. If a call gave up waiting for such a thread (871 of
 *  tprt_open and tprt_close, 893), the thread and everything that it uses
 *  remain, and MPI cannot be used again: end the process by _exit, as exit
 *  handlers might wait for the thread.
 */
tprt_status tprt_close(tprt_session *session);

/** The type of the kernels in an artifact's object code. */
typedef int32_t (*tprt_kernel)(void *const *buffers, const int64_t *scalars,
                               int64_t row_begin, int64_t row_end);

#ifdef __cplusplus
}
#endif

#endif /* TPRT_TPRT_H */
