// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Runs a program on this machine, or as one rank of mpirun's job. It
/// links only the runtime; for work that needs the compiler, it starts the
/// tp-opt in its folder.

#include "Agree.h"
#include "Check.h"
#include "Generate.h"
#include "Info.h"
#include "Inputs.h"
#include "Options.h"
#include "OutputFile.h"
#include "Outputs.h"
#include "Process.h"
#include "Program.h"
#include "Times.h"
#include "Train.h"
#include "Verify.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Session.h"

#include "absl/time/clock.h"

#include <cstdio>
#include <cstdlib>

using namespace tprt;
using namespace tprun;

static absl::Status run(Session &session, const Options &options) {
  if (options.verify)
    return verifyArtifact(session, options);
  bool isFirst = session.getFirstRank() == 0;
  bool trains = !options.train.empty(), generates = !options.generate.empty();
  std::string entry = chooseEntry(session.getArtifact(), options);
  if (!options.output.empty() && !trains)
    TPRT_RETURN_IF_ERROR(checkOutputFile(session, entry, options.output));
  if (!options.trace.empty())
    TPRT_RETURN_IF_ERROR(checkWritable(getTracePath(session, options.trace)));
  TPRT_RETURN_IF_ERROR(agreeOnOptions(session, options, entry));
  TPRT_ASSIGN_OR_RETURN(std::vector<std::string> random,
                        bindInputs(session, options));
  if (!random.empty() && isFirst)
    noteRandomInputs(random);
  if (!random.empty() && isFirst && generates && options.weights.empty())
    std::fprintf(stderr, "note: the weights are random, so the tokens mean "
                         "nothing; give --weights=DIR\n");
  if (trains)
    return train(session, options, entry);
  session.recordTimes(!options.trace.empty());
  std::vector<int64_t> tokens;
  if (generates) {
    TPRT_ASSIGN_OR_RETURN(tokens,
                          generate(session, options, /*prints=*/isFirst));
  } else if (options.bench == 0 || options.print || options.check ||
             !options.output.empty()) {
    absl::Time begin = absl::Now();
    TPRT_RETURN_IF_ERROR(session.run(entry));
    bool isSilent = !options.print && !options.check && options.bench == 0;
    if (isSilent && isFirst)
      noteRun(session, entry, absl::Now() - begin);
  }
  // If there is a benchmark, the trace shows the run whose steps are measured.
  bool isTraceOfBenchmark = options.bench > 0 && !generates;
  if (!options.trace.empty() && !isTraceOfBenchmark)
    TPRT_RETURN_IF_ERROR(
        writeTrace(session, session.takeTimes(), options.trace));
  if (options.print && !generates)
    TPRT_RETURN_IF_ERROR(
        printOutputs(session, *session.getArtifact().findEntry(entry)));
  if (!options.output.empty())
    TPRT_RETURN_IF_ERROR(writeOutputs(
        session, *session.getArtifact().findEntry(entry), options.output));
  if (options.check)
    TPRT_RETURN_IF_ERROR(generates ? checkTokens(session, options, tokens)
                                   : checkOutputs(session, options, entry));
  session.recordTimes(false);
  if (options.bench == 0)
    return absl::OkStatus();
  (void)session.takeTimes();
  return benchmark(session, entry, options.bench, options.warmUp,
                   isTraceOfBenchmark ? options.trace : "");
}

/// Prints the error of each failed rank and exits without cleaning up: a rank
/// may still be inside a kernel and cannot be waited for.
[[noreturn]] static void leave(const absl::Status &status, Session *session) {
  std::vector<absl::Status> errors;
  if (session && getExitCode(status) != 1)
    errors = session->getRankErrors();
  if (errors.empty())
    errors = {status};
  std::fflush(stdout);
  for (const absl::Status &error : errors)
    std::fprintf(stderr, "error: %s\n", std::string(error.message()).c_str());
  printHint(errors.front());
  std::fflush(stderr);
  if (session)
    session->leave(status);
  std::_Exit(getExitCode(status));
}

/// Returns the variable by which torchrun or srun tells this process that it is
/// one of several; null if neither does.
static const char *findLauncherSize() {
  for (const char *size : {"WORLD_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char *value = std::getenv(size))
      return std::atoi(value) > 1 ? size : nullptr;
  return nullptr;
}

/// Returns true if this process is one of the ranks on GPUs that torchrun or
/// srun started. A job of one process counts, too, if the environment says
/// where NCCL finds rank 0.
static bool isOneOfMany() {
  return findLauncherSize() ||
         (std::getenv("WORLD_SIZE") && std::getenv("NCCL_COMM_ID"));
}

/// Only the CUDA backend uses the settings of torchrun and srun. With other
/// backends, each process would run the whole program.
static absl::Status refuseLauncher(absl::string_view size,
                                   const Options &options, int64_t ranks) {
  bool isTorch = size == "WORLD_SIZE";
  std::string remedy = absl::StrCat("mpirun -n ", ranks, " tp-run ...");
  if (!isTorch)
    remedy =
        absl::StrCat("srun --mpi=pmix -n ", ranks, " tp-run ... or ", remedy);
  return makeError(
      ErrorCode::BadOption, isTorch ? "torchrun" : "srun",
      " has started several processes (", size,
      "), but each of them would run the whole program with --backend=",
      options.backend, ": write ", remedy,
      ", or start one process, whose threads are the ranks");
}

int main(int argc, char **argv) {
  setUpProcess();
  bool done = false;
  absl::StatusOr<Options> options = parseOptions(argc, argv, &done);
  if (!options.ok())
    leave(options.status(), nullptr);
  if (done)
    return 0;
  if (options->info) {
    absl::StatusOr<std::string> text = describeArtifact(options->program);
    if (!text.ok())
      leave(text.status(), nullptr);
    std::fputs(text->c_str(), stdout);
    return 0;
  }
  expectNoExit();
  absl::StatusOr<Program> program = loadProgram(*options);
  if (!program.ok())
    leave(program.status(), nullptr);
  SessionOptions sessionOptions;
  sessionOptions.backend = options->backend;
  sessionOptions.createBackend = program->createBackend;
  sessionOptions.ranks = options->ranks;
  sessionOptions.threads = options->threads;
  sessionOptions.timeout = options->timeout;
  sessionOptions.runTimeout = options->runTimeout;
  sessionOptions.network = options->network;
  sessionOptions.allowTF32 = options->allowTF32;
  // Open MPI, MPICH and `srun --mpi=pmix` set these variables.
  if (std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMI_SIZE") ||
      std::getenv("PMIX_RANK"))
    sessionOptions.transport = "mpi";
  else if (options->backend == "cuda" && isOneOfMany())
    sessionOptions.transport = kEnvironment;
  else if (const char *size = findLauncherSize())
    leave(refuseLauncher(size, *options, program->artifact->getNumDevices()),
          nullptr);
  Session session(sessionOptions, program->artifact);
  absl::Status status = session.prepare();
  if (status.ok())
    status = run(session, *options);
  if (status.ok())
    status = flushStdout();
  if (status.ok())
    status = session.close();
  if (!status.ok())
    leave(status, &session);
  expectExit();
  return 0;
}
