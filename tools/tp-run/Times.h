// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How long runs and their steps take.

#ifndef TPRUN_TIMES_H
#define TPRUN_TIMES_H

#include "Options.h"
#include "runtime/Core/Session.h"

namespace tprun {

/// Runs the entry --bench times after a warm-up and prints the times, in all
/// and by kind of step.
absl::Status benchmark(tprt::Session &session, const std::string &entry,
                       int runs);

/// Writes the steps of the recorded runs as a Chrome trace, one row per
/// rank. Under MPI each process writes its own: FILE, FILE.1, FILE.2, ..
absl::Status writeTrace(tprt::Session &session, const std::string &path);

} // namespace tprun

#endif // TPRUN_TIMES_H
