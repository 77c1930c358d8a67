// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The parameters that a program has trained, as a file.

#ifndef TPRUN_PARAMETERS_H
#define TPRUN_PARAMETERS_H

#include "runtime/Core/Session.h"

#include <string>

namespace tprun {

/// Whether the parameters can be written to a safetensors file at `path`, to be
/// asked before they are trained: that each tensor the program takes parameters
/// from is one of them as a whole.
absl::Status checkParameterFile(const tprt::Session &session,
                                const std::string &path);

/// Writes all parameters, trained or not, as --weights reads them. A parameter
/// that comes from a checkpoint keeps the name and layout that it has there;
/// any other keeps its own name. Types are those of the program.
absl::Status writeParameters(tprt::Session &session, const std::string &path);

} // namespace tprun

#endif // TPRUN_PARAMETERS_H
