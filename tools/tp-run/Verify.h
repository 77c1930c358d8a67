// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Whether an artifact computes what it was made of, on this machine.
///
/// --check runs a program once, on the inputs that the user has for it, and
/// compares whole tensors. --verify looks for inputs on which it would be
/// wrong:
///
/// 1. tp-opt holds the local program that the artifact carries against the
/// whole
///    one, as --tp-verify-against does, in a prime field, too.
/// 2. Every entry is run, on this machine's kernels, on the data sets of that
///    pass: indices inside and outside, numbers that are far apart, and garbage
///    in the padding of buffers that have been used before. Each element may be
///    off by what roundings can move it by in the whole program.

#ifndef TPRUN_VERIFY_H
#define TPRUN_VERIFY_H

#include "Options.h"
#include "runtime/Core/Session.h"

namespace tprun {

/// Prints a line for each step, and fails at the first that is wrong. Binds
/// inputs of its own.
absl::Status verifyArtifact(tprt::Session &session, const Options &options);

} // namespace tprun

#endif // TPRUN_VERIFY_H
