// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Checks that a sharded program computes the same as the whole program.

#ifndef TPRUN_CHECK_H
#define TPRUN_CHECK_H

#include "Options.h"
#include "runtime/Core/Session.h"

namespace tprun {

/// Runs the whole program on one device, on the same inputs as the session's
/// run of `entry`, and compares every output; see Compare.h. Prints a line for
/// each output and fails with CheckFailed if one differs too much.
absl::Status checkOutputs(tprt::Session &session, const Options &options,
                          const std::string &entry);

/// Compares the tokens that the session has generated with those that the whole
/// program generates on one device. Prints a line, and fails if the tokens
/// differ by more than rounding explains.
absl::Status checkTokens(tprt::Session &session, const Options &options,
                         const std::vector<int64_t> &tokens);

} // namespace tprun

#endif // TPRUN_CHECK_H
