// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a text calls its values, kept in their locations.
//
// MLIR forgets that an argument was `%up`. Reports, explanations, plans and
// traces call it so where it has no other name. Each function's names are its
// own: they are in locations, and no two values become one by them.

#ifndef TPOPT_TOOLS_TPOPT_TEXTNAMES_H
#define TPOPT_TOOLS_TPOPT_TEXTNAMES_H

#include "mlir/Pass/Pass.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace tp {

/// A pass that gives values of a module their names in `text`, which must live
/// on. Numbers, `%0`, and `%arg0` are no names: printers write them.
std::unique_ptr<mlir::Pass> createTextNamesPass(llvm::MemoryBufferRef text);

} // namespace tp

#endif // TPOPT_TOOLS_TPOPT_TEXTNAMES_H
