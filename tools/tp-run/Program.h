// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file From what the user names to something that a session can run.

#ifndef TPRUN_PROGRAM_H
#define TPRUN_PROGRAM_H

#include "Options.h"
#include "runtime/Core/Session.h"

namespace tprun {

struct Program {
  std::shared_ptr<const tprt::Artifact> artifact;
  /// Set if no library of the runtime runs it: the interpreter.
  decltype(tprt::SessionOptions::createBackend) createBackend;
};

/// The program the user names: an artifact, or what the tp-opt beside this tool
/// makes of a .mlir (Compiled.h). Under --backend=interpreter nothing is
/// compiled: a .mlir runs as it stands, or sharded by --shard, a .tpx as the
/// whole program it was made of.
absl::StatusOr<Program> loadProgram(const Options &options);

/// What an artifact of a sharded program should compute: the whole program it
/// was made of, on one device. If small, the interpreter runs that, else it is
/// compiled for the CPU. A draw above 0 has rounding errors of its own: the
/// interpreter's are random, and what is compiled moves its arguments by an ulp
/// of the narrowest float that it computes with.
absl::StatusOr<Program> loadReference(const tprt::Artifact &artifact,
                                      const Options &options, int draw);

/// The entry to run: the one asked for, "main", or the first.
std::string chooseEntry(const tprt::Artifact &artifact, const Options &options);

} // namespace tprun

#endif // TPRUN_PROGRAM_H
