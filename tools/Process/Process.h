// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What every tool of the compiler does about its process.

#ifndef TPOPT_TOOLS_PROCESS_PROCESS_H
#define TPOPT_TOOLS_PROCESS_PROCESS_H

namespace tp {

/// To be called first in main. However the process ends, what it printed has
/// arrived or its exit code is 3; and where there is no memory or no thread
/// left, it ends with an error and that code, too. A reader of its output that
/// has gone ends it by SIGPIPE, as it does other tools.
void setUpProcess();

} // namespace tp

#endif // TPOPT_TOOLS_PROCESS_PROCESS_H
