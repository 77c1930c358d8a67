// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What tp-run does about its process: its standard streams, and the ways
/// in which libraries would end it.

#ifndef TPRUN_PROCESS_H
#define TPRUN_PROCESS_H

#include "absl/status/status.h"

namespace tprun {

/// To be called first in main. From then on, whatever ends the process through
/// exit() ends it with code 3 if what was printed did not arrive.
void setUpProcess();

/// The options are read: a library that now calls exit() has failed, as libgomp
/// does when it cannot start a thread.
void expectNoExit();
/// The work is done, and main returns.
void expectExit();

/// DiskFull if anything printed to stdout so far did not arrive. A reader that
/// has gone ends the process by SIGPIPE, as it does other tools.
absl::Status flushStdout();

} // namespace tprun

#endif // TPRUN_PROCESS_H
