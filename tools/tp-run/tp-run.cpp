// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Runs a compiled program on this machine, or as one rank of mpirun's
/// job. It needs no compiler: all it links is the runtime.

#include "Compile.h"
#include "Generate.h"
#include "Inputs.h"
#include "Options.h"
#include "Times.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Session.h"

#include <cstdio>
#include <cstdlib>

using namespace tprt;
using namespace tprun;

/// The entry to run: the one asked for, "main", or the first.
static std::string chooseEntry(const Artifact &artifact,
                               const Options &options) {
  if (!options.entry.empty())
    return options.entry;
  absl::Span<const EntryRow> entries = artifact.rows<EntryRow>();
  if (artifact.findEntry("main") || entries.empty())
    return "main";
  return std::string(artifact.text(entries.front().name));
}

static absl::Status run(Session &session, const Options &options) {
  std::string entry = chooseEntry(session.getArtifact(), options);
  bool generates = !options.generate.empty();
  TPRT_RETURN_IF_ERROR(bindInputs(
      session, options,
      generates ? kGenerateInputs : std::vector<absl::string_view>()));
  session.recordTimes(!options.trace.empty());
  if (generates)
    TPRT_RETURN_IF_ERROR(generate(session, options));
  else
    TPRT_RETURN_IF_ERROR(session.run(entry));
  if (!options.trace.empty())
    TPRT_RETURN_IF_ERROR(writeTrace(session, options.trace));
  if (options.print && !generates)
    TPRT_RETURN_IF_ERROR(
        printOutputs(session, *session.getArtifact().findEntry(entry)));
  if (options.bench > 0) {
    session.recordTimes(false);
    TPRT_RETURN_IF_ERROR(benchmark(session, entry, options.bench));
  }
  return absl::OkStatus();
}

/// Prints what each failed rank has to say and leaves at once: a rank may still
/// be inside a kernel and cannot be waited for.
[[noreturn]] static void leave(const absl::Status &status,
                               std::vector<absl::Status> errors) {
  if (errors.empty() || getExitCode(status) == 1)
    errors = {status};
  std::fflush(stdout);
  for (const absl::Status &error : errors)
    std::fprintf(stderr, "error: %s\n", std::string(error.message()).c_str());
  std::fflush(stderr);
  std::_Exit(getExitCode(status));
}

int main(int argc, char **argv) {
  bool done = false;
  absl::StatusOr<Options> options = parseOptions(argc, argv, &done);
  if (!options.ok())
    leave(options.status(), {});
  if (done)
    return 0;
  absl::StatusOr<std::string> path = getArtifact(*options);
  if (!path.ok())
    leave(path.status(), {});
  auto artifact = Artifact::open(*path);
  if (!artifact.ok())
    leave(artifact.status(), {});
  SessionOptions sessionOptions;
  sessionOptions.backend = options->backend;
  sessionOptions.ranks = options->ranks;
  sessionOptions.timeout = options->timeout;
  // Open MPI and MPICH tell their processes so.
  if (std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMI_SIZE"))
    sessionOptions.transport = "mpi";
  auto session = Session::open(sessionOptions, *artifact);
  if (!session.ok())
    leave(session.status(), {});
  absl::Status status = run(**session, *options);
  if (!status.ok())
    leave(status, (*session)->getRankErrors());
  return 0;
}
