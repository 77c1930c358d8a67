// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Keeps the names that a text gives its values, in their locations.
//
// MLIR forgets that an argument was `%up`. Reports, explanations, plans and
// traces use this name if the value has no other. The names of each function
// are separate: they are in locations, so they never make two values one.

#ifndef TPOPT_TOOLS_TPOPT_TEXTNAMES_H
#define TPOPT_TOOLS_TPOPT_TEXTNAMES_H

#include "mlir/Pass/Pass.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace tp {

/// Returns a pass that gives values of a module their names in `text`, which
/// must outlive it. Numbers such as `%0`, and `%arg0`, are not names: printers
/// write them.
std::unique_ptr<mlir::Pass> createTextNamesPass(llvm::MemoryBufferRef text);

} // namespace tp

#endif // TPOPT_TOOLS_TPOPT_TEXTNAMES_H
