// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Names and values of the options within --tp-shard="...", looked at before
// MLIR parses them: its messages name neither the flag nor what exists.

#ifndef TPOPT_TOOLS_TPOPT_PIPELINEOPTIONS_H
#define TPOPT_TOOLS_TPOPT_PIPELINEOPTIONS_H

#include "mlir/Support/LLVM.h"

#include <vector>

namespace tp {

/// The options of the pipeline that a flag runs, `mesh` and so on of
/// `tp-shard`, in order; none if it runs no pipeline of ours.
std::vector<llvm::StringRef> getPipelineOptions(llvm::StringRef flag);

/// What an option may be: `off`, `static` and `field` of `verify`; empty if
/// what it may be is not known here.
std::vector<llvm::StringRef> getOptionValues(llvm::StringRef option);

/// Fails, having said why, if the pipeline has no option of a name in `text`,
/// or the option no such value.
mlir::LogicalResult checkPipelineOptions(llvm::StringRef flag,
                                         llvm::StringRef text);

/// The one of `known` that a misspelt word means; empty if none is near.
llvm::StringRef findNearName(llvm::StringRef word,
                             llvm::ArrayRef<llvm::StringRef> known);

} // namespace tp

#endif // TPOPT_TOOLS_TPOPT_PIPELINEOPTIONS_H
