// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How long runs and their steps take.

#ifndef TPRUN_TIMES_H
#define TPRUN_TIMES_H

#include "Options.h"
#include "runtime/Core/Session.h"

namespace tprun {

/// Runs the entry --bench times after a warm-up, which lasts so long or two
/// runs, and prints the times, in all and by kind of step. For the latter it
/// runs once more, which is what a trace is of, if a file is named for it.
absl::Status benchmark(tprt::Session &session, const std::string &entry,
                       int runs, absl::Duration warmUp,
                       const std::string &trace);

/// Writes the steps of recorded runs as a Chrome trace, one row per rank,
/// and one for the collectives that went on beside its steps.
absl::Status writeTrace(const tprt::Session &session,
                        absl::Span<const tprt::Session::RankTimes> recorded,
                        const std::string &path);

/// Where this process writes its trace. Under MPI each has its own: FILE,
/// FILE.1, FILE.2, ..
std::string getTracePath(const tprt::Session &session, const std::string &path);

} // namespace tprun

#endif // TPRUN_TIMES_H
