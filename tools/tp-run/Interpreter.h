// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The backend that uses tp-opt's interpreter: slow, and without any
/// compiled steps. Every run hands the inputs to a tp-opt process and takes the
/// outputs back.

#ifndef TPRUN_INTERPRETER_H
#define TPRUN_INTERPRETER_H

#include "Program.h"

namespace tprun {

/// Loads the program in a file of MLIR, sharded as `shard` says unless that is
/// empty. Results are rounded to nearest, or at random if the seed is above 0.
absl::StatusOr<Program> loadInterpreted(const std::string &path,
                                        const std::string &shard,
                                        int roundingSeed = 0);

} // namespace tprun

#endif // TPRUN_INTERPRETER_H
