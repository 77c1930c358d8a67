// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Compiles a .mlir file, and caches the result.

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
/// hash of everything that it depends on: the program, the options, the files
/// that the options name, the compiler and this CPU. If it cannot be cached, a
/// note says why.
absl::StatusOr<std::shared_ptr<const tprt::Artifact>>
compile(const Options &options);

/// Compiles a program with these options of --tp-compile, after the passes of
/// the flags in `before`. The result is not cached.
absl::StatusOr<std::shared_ptr<const tprt::Artifact>>
compile(const std::string &program, const std::string &pipeline,
        const std::vector<std::string> &before = {});

} // namespace tprun

#endif // TPRUN_COMPILED_H
