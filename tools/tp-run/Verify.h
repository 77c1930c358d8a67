// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Checks that, on this machine, an artifact computes the same as the
/// program that it was made from.
///
/// --check runs a program once, on the user's inputs, and compares whole
/// tensors. --verify looks for inputs on which the program would be wrong:
///
/// 1. tp-opt compares the local program in the artifact with the whole one, as
///    --tp-verify-against does, including a comparison in a prime field.
/// 2. Every entry is run, on this machine's kernels, on the data sets of that
///    pass: indices in and out of range, numbers of very different magnitude,
///    and garbage in the padding of buffers that have been used before. Each
///    element may differ by as much as rounding can change it in the whole
///    program.

#ifndef TPRUN_VERIFY_H
#define TPRUN_VERIFY_H

#include "Options.h"
#include "runtime/Core/Session.h"

namespace tprun {

/// Prints a line for each check that passes, and fails at the first check that
/// does not. Binds data sets to the inputs, so the caller need not bind inputs.
absl::Status verifyArtifact(tprt::Session &session, const Options &options);

} // namespace tprun

#endif // TPRUN_VERIFY_H
