/* Part of the tp-opt project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/** \file The compiler as a C library: text in, text out.
 *
 * A session owns everything that modules need, and collects the compiler's
 * messages. A module is a program in memory. Everything that tp-opt does is a
 * pipeline, written like the text between the parentheses of
 * `--pass-pipeline='builtin.module(..)'`:
 *
 *     TPOptSession session = tpoptSessionCreate();
 *     TPOptModule module;
 *     if (tpoptModuleParse(session, text, strlen(text), "mlp.mlir", &module) ||
 *         tpoptModuleRunPipeline(module, "tp-shard{mesh=data=2,model=4}"))
 *       fputs(tpoptSessionGetMessages(session), stderr);
 *     else
 *       puts(tpoptModuleGetText(module));
 *     tpoptModuleDestroy(module);
 *     tpoptSessionDestroy(session);
 *
 * **Errors.** Calls that can fail return a TPOptStatus, whose numbers are
 * tp-opt's exit codes. No call prints, aborts or throws, whatever its
 * arguments are. If a session, a module, a text or a pipeline is NULL, the call
 * returns TPOPT_INVALID or an empty string. Messages have the same form as
 * tp-opt's: `file:line:col: error: [TP0204] what: why`.
 *
 * **Memory.** Objects from Create and Parse must be passed to the matching
 * Destroy, which also accepts NULL. Modules must be destroyed before their
 * session. Strings belong to the library and are valid until the next call with
 * their session or one of its modules.
 *
 * **Threads.** Sessions are independent. Only one thread at a time may use a
 * session and its modules.
 *
 * **Versions.** Functions do not change within a major version. Each comment
 * names the version that introduced the function. Modelled on the C API of MLIR
 * and IREE's embedding API.
 */

#ifndef TPOPT_C_TPOPT_H
#define TPOPT_C_TPOPT_H

#include <stddef.h>

#if defined(_WIN32)
#define TPOPT_EXPORT
#else
#define TPOPT_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The version of this header. */
#define TPOPT_VERSION_MAJOR 0
#define TPOPT_VERSION_MINOR 1

/** The outcome of a call. Available since 0.1. */
typedef enum TPOptStatus {
  TPOPT_OK = 0,
  /** The program, the pipeline or an argument is wrong; messages say how. */
  TPOPT_INVALID = 1,
} TPOptStatus;

/** The severity of a message. Available since 0.1. */
typedef enum TPOptSeverity {
  TPOPT_ERROR = 0,
  TPOPT_WARNING = 1,
  TPOPT_REMARK = 2,
  /** Belongs to the message before it. */
  TPOPT_NOTE = 3,
} TPOptSeverity;

typedef struct TPOptSessionImpl *TPOptSession;
typedef struct TPOptModuleImpl *TPOptModule;

/** Receives one message. `message` is NUL-terminated, has no line break at its
 * end, and is valid during the call. Available since 0.1. */
typedef void (*TPOptMessageCallback)(TPOptSeverity severity,
                                     const char *message, void *userData);

/** The version of the library: major * 1000 + minor. Available since 0.1. */
TPOPT_EXPORT unsigned tpoptGetVersion(void);

/** A new session with all dialects and passes. Available since 0.1. */
TPOPT_EXPORT TPOptSession tpoptSessionCreate(void);

/** Available since 0.1. */
TPOPT_EXPORT void tpoptSessionDestroy(TPOptSession session);

/** Also passes each message to `callback` when it is emitted; NULL stops this.
 * Available since 0.1. */
TPOPT_EXPORT void tpoptSessionSetMessageCallback(TPOptSession session,
                                                 TPOptMessageCallback callback,
                                                 void *userData);

/** The messages of the last call that parsed a module or ran a pipeline, one
 * per line; empty if there were none. Available since 0.1. */
TPOPT_EXPORT const char *tpoptSessionGetMessages(TPOptSession session);

/** Parses and verifies the `length` bytes of `text`. The program is in our
 * dialects, or in StableHLO with shardings, as JAX and PyTorch export it.
 * `name` is the file name in messages. On failure, `*module` is NULL. Available
 * since 0.1. */
TPOPT_EXPORT TPOptStatus tpoptModuleParse(TPOptSession session,
                                          const char *text, size_t length,
                                          const char *name,
                                          TPOptModule *module);

/** Runs passes on the module, such as `"tp-shard{mesh=model=4}"` or
 * `"canonicalize,cse"`. If passes fail, the module can only be destroyed: no
 * other pipeline runs on it, and its text is empty. Available since 0.1. */
TPOPT_EXPORT TPOptStatus tpoptModuleRunPipeline(TPOptModule module,
                                                const char *pipeline);

/** The module as text. Available since 0.1. */
TPOPT_EXPORT const char *tpoptModuleGetText(TPOptModule module);

/** Available since 0.1. */
TPOPT_EXPORT void tpoptModuleDestroy(TPOptModule module);

#ifdef __cplusplus
}
#endif

#endif /* TPOPT_C_TPOPT_H */
