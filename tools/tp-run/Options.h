// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The command line of tp-run.

#ifndef TPRUN_OPTIONS_H
#define TPRUN_OPTIONS_H

#include "EndTokens.h"
#include "runtime/Communicators/Link.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <string>
#include <utility>
#include <vector>

namespace tprun {

/// The --backend that has no library in the runtime.
inline constexpr char kInterpreter[] = "interpreter";

struct Options {
  std::string program; ///< .tpx, .mlir or .mlirbc
  std::string shard;   ///< For .mlir: what tp-opt's --tp-compile takes.
  bool cache = true;   ///< Whether what a .mlir compiles to is kept.
  std::string backend;
  int ranks = 0;
  int threads = 0;
  absl::Duration timeout;
  absl::Duration runTimeout;
  tprt::Link link; ///< Emulated between ranks.
  std::string weights;
  /// name=value of every --input, in order.
  std::vector<std::pair<std::string, std::string>> inputs;
  std::string entry;
  uint64_t seed = 0;
  bool info = false;
  bool print = false;
  std::string output;
  bool check = false;
  bool verify = false;
  int bench = 0;
  absl::Duration warmUp; ///< Before --bench takes times.
  std::string train;     ///< Data; empty: nothing is trained.
  int64_t steps = 0;     ///< Of training.
  std::string log;       ///< Of training; empty: none is written.
  bool allowTF32 = false;
  std::string trace;
  std::string generate;
  int maxTokens = 0;
  double temperature = 0;
  EndTokens endTokens; ///< Of --generate.
};

/// Reads the command line. Asked for help or the version,
/// it prints that and sets *done.
absl::StatusOr<Options> parseOptions(int argc, char **argv, bool *done);

/// A list of integers: `1,2,3`, or the name of a file with such a list, also
/// separated by blanks.
absl::StatusOr<std::vector<int64_t>> parseTokens(const std::string &text);

} // namespace tprun

#endif // TPRUN_OPTIONS_H
