// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Process setup that every tool of the compiler shares.

#ifndef TPOPT_TOOLS_PROCESS_PROCESS_H
#define TPOPT_TOOLS_PROCESS_PROCESS_H

namespace tp {

/// Must be called first in main. However the process ends, either all of its
/// output has been written or its exit code is 3. If memory or threads run out,
/// the process ends with an error and code 3. If the reader of its output has
/// gone, SIGPIPE ends the process, as with other tools.
void setUpProcess();

} // namespace tp

#endif // TPOPT_TOOLS_PROCESS_PROCESS_H
