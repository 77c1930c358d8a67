// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Runs the compiler in this tool's folder as a process.

#ifndef TPRUN_TPOPT_H
#define TPRUN_TPOPT_H

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace tprun {

/// Returns the path of the tp-opt in this tool's folder.
absl::StatusOr<std::string> findCompiler();

/// Runs tp-opt, discarding its IR; its messages go to our stderr.
absl::Status runCompiler(std::vector<std::string> arguments);

} // namespace tprun

#endif // TPRUN_TPOPT_H
