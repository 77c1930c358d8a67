// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The --help and --version of a tool, and where to read about an error.

#ifndef TPOPT_TOOLS_PROCESS_FRONTDOOR_H
#define TPOPT_TOOLS_PROCESS_FRONTDOOR_H

#include "tpopt/Support/ErrorCodes.h"

#include "llvm/ADT/StringRef.h"

namespace tp {

/// Makes --version print the tool's name and version, LLVM's version and the
/// kind of build.
void setVersion(llvm::StringRef tool);

/// Prints `help` and returns true if --help or -h is given. Replaces
/// --help-mlir in `argv` by --help, so that LLVM's parser prints all options
/// that it knows.
bool answerHelp(int argc, char **argv, llvm::StringRef help);

/// Hides the options that are registered so far, hundreds of which come from
/// libLLVM's code generators. --help-hidden still lists them.
void hideRegisteredOptions();

/// Prints how to learn more about an error, as the last line of a run.
void printHint(ErrorCode code);

} // namespace tp

#endif // TPOPT_TOOLS_PROCESS_FRONTDOOR_H
