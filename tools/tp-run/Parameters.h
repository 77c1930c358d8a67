// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Writes the parameters that a program has trained to a file.

#ifndef TPRUN_PARAMETERS_H
#define TPRUN_PARAMETERS_H

#include "runtime/Core/Session.h"

#include <string>

namespace tprun {

/// Checks, before parameters are trained, that they can be written to a
/// safetensors file at `path`: if parameters are parts of a tensor, they must
/// make up the whole tensor.
absl::Status checkParameterFile(const tprt::Session &session,
                                const std::string &path);

/// Writes all parameters, trained or not, in the form that --weights reads. A
/// parameter that comes from a checkpoint keeps its name and layout there; any
/// other keeps its own name. Types are those of the program.
absl::Status writeParameters(tprt::Session &session, const std::string &path);

} // namespace tprun

#endif // TPRUN_PARAMETERS_H
