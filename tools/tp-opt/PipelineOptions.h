// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Checks names and values of the options within --tp-shard="..." before MLIR
// parses them: MLIR's messages name neither the flag nor the existing options.

#ifndef TPOPT_TOOLS_TPOPT_PIPELINEOPTIONS_H
#define TPOPT_TOOLS_TPOPT_PIPELINEOPTIONS_H

#include "mlir/Support/LLVM.h"

#include <vector>

namespace tp {

/// Returns the options of the pipeline that a flag runs (`mesh` and so on for
/// `tp-shard`), in order; none if it runs no pipeline of ours.
std::vector<llvm::StringRef> getPipelineOptions(llvm::StringRef flag);

/// Returns the values that an option may have: `off`, `static` and `field` for
/// `verify`; empty if they are not known here.
std::vector<llvm::StringRef> getOptionValues(llvm::StringRef option);

/// Prints an error and fails if `text` contains a name that is not an option of
/// the pipeline, or a value that the option cannot have.
mlir::LogicalResult checkPipelineOptions(llvm::StringRef flag,
                                         llvm::StringRef text);

} // namespace tp

#endif // TPOPT_TOOLS_TPOPT_PIPELINEOPTIONS_H
