// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Compiles a .mlir, and keeps the result for the next time.

#ifndef TPRUN_COMPILED_H
#define TPRUN_COMPILED_H

#include "Options.h"
#include "runtime/Core/Artifact.h"

#include <memory>
#include <string>
#include <vector>

namespace tprun {

/// Compiles the program that the user names with the tp-opt in the folder of
/// this tool. The result is kept in the user's cache (CacheFolder.h) under a
/// hash of everything it depends on: the program, the options, the files that
/// these name, the compiler and this CPU. If it cannot be kept, a note says
/// why.
absl::StatusOr<std::shared_ptr<const tprt::Artifact>>
compile(const Options &options);

/// Compiles a program with these options of --tp-compile, after the passes that
/// the flags in `before` name. The result is not kept.
absl::StatusOr<std::shared_ptr<const tprt::Artifact>>
compile(const std::string &program, const std::string &pipeline,
        const std::vector<std::string> &before = {});

} // namespace tprun

#endif // TPRUN_COMPILED_H
