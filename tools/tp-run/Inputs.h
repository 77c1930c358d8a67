// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Values for a program's inputs.

#ifndef TPRUN_INPUTS_H
#define TPRUN_INPUTS_H

#include "Options.h"
#include "runtime/Core/Session.h"

#include "absl/strings/string_view.h"

namespace tprun {

/// The inputs that --generate binds for each step.
inline constexpr absl::string_view kGenerateInputs[] = {"tokens", "length",
                                                        "token", "position"};

/// Binds the weights and the values of --input. The remaining inputs get random
/// numbers; returns their names.
absl::StatusOr<std::vector<std::string>> bindInputs(tprt::Session &session,
                                                    const Options &options);

/// Prints a note on stderr that these inputs got random values.
void noteRandomInputs(std::vector<std::string> names);

} // namespace tprun

#endif // TPRUN_INPUTS_H
