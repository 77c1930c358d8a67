// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Sets up tp-run's process: its standard streams, and its messages and
/// exit code if a library ends it.

#ifndef TPRUN_PROCESS_H
#define TPRUN_PROCESS_H

#include "absl/status/status.h"

namespace tprun {

/// Must be called first in main. If the process then ends through exit() and
/// its output was not written, the exit code is 3.
void setUpProcess();

/// Called when the options have been read. If a library calls exit() after
/// this, it has failed, like libgomp when it cannot start a thread.
void expectNoExit();
/// Called when the work is done and main returns.
void expectExit();

/// Prints how to learn more about an error, as the last line of a run. Prints
/// nothing for an error of tp-opt, which has printed that line itself.
void printHint(const absl::Status &status);

/// Returns DiskFull if anything printed to stdout so far was not written. If
/// the reader of stdout has gone, SIGPIPE ends the process, as with other
/// tools.
absl::Status flushStdout();

} // namespace tprun

#endif // TPRUN_PROCESS_H
