// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Everything between parsing the command line and returning the exit code.

#ifndef TPOPT_TOOLS_TPOPT_TOOL_H
#define TPOPT_TOOLS_TPOPT_TOOL_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LLVM.h"

namespace tp {

/// Reads or imports the program, runs the passes that the flags ask for and
/// writes the result. Returns the exit code: 0 fine, 1 the input is wrong, 2 a
/// bug of ours, 3 the environment failed, such as a full disk.
int runTool(llvm::StringRef inputFile,
            std::optional<llvm::StringRef> outputFile,
            const mlir::DialectRegistry &dialects);

} // namespace tp

#endif // TPOPT_TOOLS_TPOPT_TOOL_H
