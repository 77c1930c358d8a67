// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The backend that has tp-opt's interpreter compute: slow, and without a
/// step of the compiled program's own. Every run hands the inputs to a tp-opt
/// process and takes the outputs back.

#ifndef TPRUN_INTERPRETER_H
#define TPRUN_INTERPRETER_H

#include "Program.h"

namespace tprun {

/// The program in a file of MLIR, sharded as `shard` says unless that is empty.
/// Results are rounded to the nearest, or with a seed above 0 at random.
absl::StatusOr<Program> loadInterpreted(const std::string &path,
                                        const std::string &shard,
                                        int roundingSeed = 0);

} // namespace tprun

#endif // TPRUN_INTERPRETER_H
