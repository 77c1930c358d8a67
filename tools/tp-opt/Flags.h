// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Flags that are short for options of --tp-shard.

#ifndef TPOPT_TOOLS_TPOPT_FLAGS_H
#define TPOPT_TOOLS_TPOPT_FLAGS_H

#include "mlir/Support/LLVM.h"

#include <string>
#include <vector>

namespace tp {

/// Moves `--tp-stop-after=STAGE` and its like into the options of `--tp-shard`,
/// where the pipeline knows them. Fails, having said why, if there is no
/// `--tp-shard` among the arguments.
mlir::FailureOr<std::vector<std::string>>
expandFlags(llvm::ArrayRef<const char *> arguments);

} // namespace tp

#endif // TPOPT_TOOLS_TPOPT_FLAGS_H
