// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The flag --explain-error.

#ifndef TPOPT_TOOLS_TPOPT_EXPLAINERROR_H
#define TPOPT_TOOLS_TPOPT_EXPLAINERROR_H

#include "mlir/Support/LLVM.h"

namespace tp {

/// If `--explain-error=TP0202` is among the arguments, prints what the code
/// means, an example and what to do, and returns the exit code. Knows the
/// errors of tp-run as well.
std::optional<int> explainError(llvm::ArrayRef<const char *> arguments);

} // namespace tp

#endif // TPOPT_TOOLS_TPOPT_EXPLAINERROR_H
