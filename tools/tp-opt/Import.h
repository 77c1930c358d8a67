// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The flags --tp-import and --tp-import-options.

#ifndef TPOPT_TOOLS_TP_OPT_IMPORT_H
#define TPOPT_TOOLS_TP_OPT_IMPORT_H

#include "ExitCode.h"
#include "mlir/IR/DialectRegistry.h"

#include "mlir/Support/LLVM.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tp {

/// Returns true if --tp-import is given, so that no input file is read.
bool isImportRequested();

/// Returns the imported module as bytecode, which preserves locations. On
/// failure, prints the reason, sets `code` and returns null.
std::unique_ptr<llvm::MemoryBuffer>
runImport(llvm::StringRef inputFile, const mlir::DialectRegistry &registry,
          ExitCode &code);

} // namespace tp

#endif // TPOPT_TOOLS_TP_OPT_IMPORT_H
