// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file From what the user names to an artifact.

#ifndef TPRUN_COMPILE_H
#define TPRUN_COMPILE_H

#include "Options.h"

namespace tprun {

/// The path of the artifact: the program itself, or what the tp-opt beside this
/// tool makes of a .mlir. That is kept in $XDG_CACHE_HOME/tp-opt under a hash
/// of the text, the options and the compiler.
absl::StatusOr<std::string> getArtifact(const Options &options);

} // namespace tprun

#endif // TPRUN_COMPILE_H
