// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Errors of MLIR's parser and of the verifiers that TableGen writes,
/// which have neither a code nor a remedy.
///
///     error: custom op 'tp.gelo' is unknown
///     error: [TP0105] no operation is called 'tp.gelo'; did you mean
///     'tp.gelu'?

#ifndef TPOPT_IMPORT_PARSERERRORS_H
#define TPOPT_IMPORT_PARSERERRORS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"

namespace tp {

/// Emits `diagnostic` again with a code and what to write, if it is about an
/// operation that is not known, or about a type that an operation does not
/// take. Near names are those of `dialects`. Returns true if it has emitted
/// something; a handler then returns success.
bool repeatParserError(const mlir::Diagnostic &diagnostic,
                       const mlir::DialectRegistry &dialects);

} // namespace tp

#endif // TPOPT_IMPORT_PARSERERRORS_H
