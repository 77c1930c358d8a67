// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Keeps the names that values have in a program's text, as part of their
/// locations.
///
/// MLIR does not keep the name `%up` of an argument. Reports, explanations,
/// plans and traces use this name if the value has no other. Values with the
/// same `tp.name` are the same tensor. But values of different functions can
/// have the same name in the text and be different tensors.

#ifndef TPOPT_IMPORT_TEXTNAMES_H
#define TPOPT_IMPORT_TEXTNAMES_H

#include "mlir/IR/Operation.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tp {

/// Gives values of a program their names in `text`, from which it was parsed.
/// Numbers such as `%0` and `%arg0` are not kept, since printers make them up.
void keepTextNames(mlir::Operation *program, llvm::MemoryBufferRef text);

} // namespace tp

#endif // TPOPT_IMPORT_TEXTNAMES_H
