// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The flags --tp-import and --tp-import-options.

#ifndef TPOPT_TOOLS_TP_OPT_IMPORT_H
#define TPOPT_TOOLS_TP_OPT_IMPORT_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LLVM.h"

namespace tp {

/// Whether --tp-import is given, so that no input file is read.
bool isImportRequested();

/// Imports the model and hands it to the pipeline and the output that the
/// other flags ask for, as if it had been read from a file.
mlir::LogicalResult runImport(llvm::StringRef inputFile,
                              llvm::StringRef outputFile,
                              mlir::DialectRegistry &registry);

} // namespace tp

#endif // TPOPT_TOOLS_TP_OPT_IMPORT_H
