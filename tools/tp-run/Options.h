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

/// The only value of --backend for which the runtime has no library.
inline constexpr char kInterpreter[] = "interpreter";

struct Options {
  std::string program; ///< .tpx, .mlir or .mlirbc
  std::string shard;   ///< Options of --tp-compile, for .mlir.
  bool cache = true;   ///< Cache the compiled program of a .mlir.
  std::string backend;
  int ranks = 0;
  int threads = 0;
  absl::Duration timeout;
  absl::Duration runTimeout;
  tprt::Network network; ///< Emulated between ranks.
  std::string weights;
  /// The name=value of every --input, in order.
  std::vector<std::pair<std::string, std::string>> inputs;
  std::string entry;
  uint64_t seed = 0;
  bool info = false;
  bool print = false;
  std::string output;
  bool check = false;
  bool verify = false;
  int bench = 0;
  absl::Duration warmUp; ///< Time before --bench measures.
  std::string train;     ///< The data; empty if nothing is trained.
  int64_t steps = 0;     ///< Number of training steps.
  std::string log;       ///< File for the training log; empty: none.
  bool allowTF32 = false;
  std::string trace;
  std::string generate;
  int maxTokens = 0;
  double temperature = 0;
  EndTokens endTokens; ///< Tokens that end a text of --generate.
};

/// Reads the command line. If help or the version is asked for, prints that and
/// sets *done.
absl::StatusOr<Options> parseOptions(int argc, char **argv, bool *done);

/// Returns the token ids in `text`, which is a list such as `1,2,3`, or the
/// name of a file that contains a list. In a file, ids may also be separated by
/// blanks.
absl::StatusOr<std::vector<int64_t>> parseTokens(const std::string &text);

} // namespace tprun

#endif // TPRUN_OPTIONS_H
