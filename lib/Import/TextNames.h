// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Keeps the names that a text gives its values, in their locations.
///
/// MLIR forgets that an argument was `%up`. Reports, explanations, plans and
/// traces use this name if the value has no other. The names of each function
/// are separate: they are in locations, so they never make two values one.

#ifndef TPOPT_IMPORT_TEXTNAMES_H
#define TPOPT_IMPORT_TEXTNAMES_H

#include "mlir/IR/Operation.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tp {

/// Gives values of a program their names in `text`, from which it was parsed.
/// Numbers such as `%0`, and `%arg0`, are not names: printers write them.
void keepTextNames(mlir::Operation *program, llvm::MemoryBufferRef text);

} // namespace tp

#endif // TPOPT_IMPORT_TEXTNAMES_H
