// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Turns the program that the user names into one that a session can run.

#ifndef TPRUN_PROGRAM_H
#define TPRUN_PROGRAM_H

#include "Options.h"
#include "runtime/Core/Session.h"

namespace tprun {

struct Program {
  std::shared_ptr<const tprt::Artifact> artifact;
  /// The function that creates the interpreter as a backend, if the program
  /// runs on it: the runtime has no library for that backend.
  decltype(tprt::SessionOptions::createBackend) createBackend;
};

/// Loads the program that the user names: an artifact, or a .mlir, which the
/// tp-opt in the folder of this tool compiles (Compiled.h). With
/// --backend=interpreter nothing is compiled: a .mlir runs unchanged, or
/// sharded by --shard, and a .tpx runs as the whole program from which it was
/// made.
absl::StatusOr<Program> loadProgram(const Options &options);

/// Loads the reference for an artifact of a sharded program: the whole program
/// from which it was made, on one device. The interpreter runs a small program;
/// others are compiled for the CPU. Draw 0 computes as usual. Each later draw
/// has different rounding errors: the interpreter rounds at random, and the
/// arguments of a compiled program are changed by an ulp of the narrowest float
/// type that it computes with.
absl::StatusOr<Program> loadReference(const tprt::Artifact &artifact,
                                      const Options &options, int draw);

/// Returns the entry to run: the one that was asked for, else "main", else the
/// first.
std::string chooseEntry(const tprt::Artifact &artifact, const Options &options);

} // namespace tprun

#endif // TPRUN_PROGRAM_H
