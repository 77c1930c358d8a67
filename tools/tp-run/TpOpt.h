// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The compiler beside this tool, as a process.

#ifndef TPRUN_TPOPT_H
#define TPRUN_TPOPT_H

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace tprun {

/// The tp-opt in this tool's folder.
absl::StatusOr<std::string> findCompiler();

/// Runs tp-opt; its IR goes nowhere, and what else it has to say to our stderr.
absl::Status runCompiler(std::vector<std::string> arguments);

} // namespace tprun

#endif // TPRUN_TPOPT_H
