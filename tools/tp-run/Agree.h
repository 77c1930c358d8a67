// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The options that must be the same on the command lines of all ranks.

#ifndef TPRUN_AGREE_H
#define TPRUN_AGREE_H

#include "Options.h"
#include "runtime/Core/Session.h"

namespace tprun {

/// Notes each option that affects the results or determines which calls are
/// made to the session. The session compares these between ranks before the
/// first run.
absl::Status agreeOnOptions(tprt::Session &session, const Options &options,
                            const std::string &entry);

} // namespace tprun

#endif // TPRUN_AGREE_H
