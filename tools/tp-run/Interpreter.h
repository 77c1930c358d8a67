// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The backend that uses tp-opt's interpreter. It is slow, and compiles
/// no steps. Every run passes the inputs to a tp-opt process and reads its
/// outputs.

#ifndef TPRUN_INTERPRETER_H
#define TPRUN_INTERPRETER_H

#include "Program.h"

namespace tprun {

/// Loads the program in an MLIR file, sharded with the options `shard` unless
/// that is empty. Results are rounded to nearest, or at random if the seed is
/// above 0.
absl::StatusOr<Program> loadInterpreted(const std::string &path,
                                        const std::string &shard,
                                        int roundingSeed = 0);

} // namespace tprun

#endif // TPRUN_INTERPRETER_H
