// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Measures how long runs and their steps take.

#ifndef TPRUN_TIMES_H
#define TPRUN_TIMES_H

#include "Options.h"
#include "runtime/Core/Session.h"

namespace tprun {

/// Runs the entry `runs` times and prints how long these runs took. Before them
/// come two runs, and then more until the time `warmUp` has passed. After them,
/// one more run measures each step, and the times are printed by kind of step.
/// If `trace` is not empty, the steps of that run are also written to the file
/// of this name.
absl::Status benchmark(tprt::Session &session, const std::string &entry,
                       int runs, absl::Duration warmUp,
                       const std::string &trace);

/// Writes the steps of recorded runs as a Chrome trace: one row per rank, and
/// one for the collectives on each link that overlapped with its steps.
absl::Status writeTrace(const tprt::Session &session,
                        absl::Span<const tprt::Session::RankTimes> recorded,
                        const std::string &path);

/// Returns the names of the axes that use a link, separated by commas.
std::string getAxes(const tprt::Artifact &artifact, uint32_t link);

/// Returns where this process writes its trace. Under MPI each process has its
/// own file: FILE, FILE.1, FILE.2, ..
std::string getTracePath(const tprt::Session &session, const std::string &path);

} // namespace tprun

#endif // TPRUN_TIMES_H
