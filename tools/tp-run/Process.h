// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Process setup of tp-run: its standard streams, and the ways in which
/// libraries would end it.

#ifndef TPRUN_PROCESS_H
#define TPRUN_PROCESS_H

#include "absl/status/status.h"

namespace tprun {

/// Must be called first in main. From then on, if the process ends through
/// exit() and its output did not arrive, the exit code is 3.
void setUpProcess();

/// Called when the options have been read: a library that calls exit() after
/// this has failed, as libgomp does when it cannot start a thread.
void expectNoExit();
/// Called when the work is done and main returns.
void expectExit();

/// Prints how to learn more about an error, as the last line of a run. The
/// errors that tp-opt has printed already have theirs.
void printHint(const absl::Status &status);

/// DiskFull if anything printed to stdout so far did not arrive. If the reader
/// of stdout has gone, SIGPIPE ends the process, as with other tools.
absl::Status flushStdout();

} // namespace tprun

#endif // TPRUN_PROCESS_H
