// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Rewrites flags before they are parsed.

#ifndef TPOPT_TOOLS_TPOPT_FLAGS_H
#define TPOPT_TOOLS_TPOPT_FLAGS_H

#include "mlir/Support/LLVM.h"

#include <string>
#include <vector>

namespace tp {

/// Hides the hundreds of code-generator flags that libLLVM registers, so that
/// --help shows this compiler. --help-hidden still lists all of them.
void hideForeignFlags();

/// Moves `--tp-stop-after=STAGE` into the options of `--tp-shard` or
/// `--tp-compile`, and `--tp-artifact=FILE` into those of `--tp-compile`. If
/// `--tp-explain` is given, adds an option with which the pipeline records what
/// the pass of `--tp-explain` prints. Passes that read shardings
/// (`--tp-report`, `--tp-explain` and `--tp-strict`) run after sharding,
/// whatever the order of the flags. `--tp-verify-against=FILE` sets the option
/// `whole` of the pass `--tp-verify-against`. If a flag needs a pipeline that
/// is missing, prints an error and fails.
mlir::FailureOr<std::vector<std::string>>
expandFlags(llvm::ArrayRef<const char *> arguments);

/// Returns true if something other than IR is asked for: a report, an
/// explanation, an artifact.
bool asksForMoreThanIR(llvm::ArrayRef<const char *> arguments);

} // namespace tp

#endif // TPOPT_TOOLS_TPOPT_FLAGS_H
