/* Part of the tp-opt project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/** \file The compiler as a C library: text in, text out.
 *
 * A session owns everything that modules need and collects what the compiler
 * has to say. A module is a program in memory. Everything that tp-opt does is a
 * pipeline, in the text that stands between the parentheses of
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
 * tp-opt's exit codes. No call prints, aborts or throws, whatever it is given;
 * NULL for a session, a module, a text or a pipeline is TPOPT_INVALID, or an
 * empty string. Messages read as tp-opt's: `file:line:col: error: [TP0204]
 * what: why`.
 *
 * **Memory.** Create and Parse give what the matching Destroy takes; Destroy
 * takes NULL, too. Modules die before their session. Strings belong to the
 * library and are valid until the next call with their session or one of its
 * modules.
 *
 * **Threads.** Sessions are independent. A session and its modules are used by
 * one thread at a time.
 *
 * **Versions.** Functions stay as they are within a major version; each says
 * since which version it is there. After the C API of MLIR and IREE's embedding
 * API.
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

/** What became of a call. Available since 0.1. */
typedef enum TPOptStatus {
  TPOPT_OK = 0,
  /** The program, the pipeline or an argument is wrong; messages say how. */
  TPOPT_INVALID = 1,
} TPOptStatus;

/** How much a message matters. Available since 0.1. */
typedef enum TPOptSeverity {
  TPOPT_ERROR = 0,
  TPOPT_WARNING = 1,
  TPOPT_REMARK = 2,
  /** Goes with the message before it. */
  TPOPT_NOTE = 3,
} TPOptSeverity;

typedef struct TPOptSessionImpl *TPOptSession;
typedef struct TPOptModuleImpl *TPOptModule;

/** Gets one message: `message` ends with a NUL and without a line break, and
 * is valid during the call. Available since 0.1. */
typedef void (*TPOptMessageCallback)(TPOptSeverity severity,
                                     const char *message, void *userData);

/** The version of the library: major * 1000 + minor. Available since 0.1. */
TPOPT_EXPORT unsigned tpoptGetVersion(void);

/** A new session with all dialects and passes. Available since 0.1. */
TPOPT_EXPORT TPOptSession tpoptSessionCreate(void);

/** Available since 0.1. */
TPOPT_EXPORT void tpoptSessionDestroy(TPOptSession session);

/** Also hands each message to `callback` as it comes; NULL ends that.
 * Available since 0.1. */
TPOPT_EXPORT void tpoptSessionSetMessageCallback(TPOptSession session,
                                                 TPOptMessageCallback callback,
                                                 void *userData);

/** The messages of the last call that parsed or ran a pipeline, one a line;
 * empty if there were none. Available since 0.1. */
TPOPT_EXPORT const char *tpoptSessionGetMessages(TPOptSession session);

/** Reads and verifies the `length` bytes of `text`, in our dialects or, as JAX
 * and PyTorch export it, in StableHLO with its shardings; `name` is the file
 * name in messages. On failure `*module` is NULL. Available since 0.1. */
TPOPT_EXPORT TPOptStatus tpoptModuleParse(TPOptSession session,
                                          const char *text, size_t length,
                                          const char *name,
                                          TPOptModule *module);

/** Runs passes on the module, such as `"tp-shard{mesh=model=4}"` or
 * `"canonicalize,cse"`. After passes have failed, the module is good for
 * tpoptModuleDestroy only: no other pipeline runs on it, and its text is empty.
 * Available since 0.1. */
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
