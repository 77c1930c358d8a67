// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Errors of verifiers. Like all other errors, they have codes.

#ifndef TPOPT_DIALECTS_OPERROR_H
#define TPOPT_DIALECTS_OPERROR_H

#include "tpopt/Support/ErrorCodes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tp {

/// Emits an error that begins with `[TP0304] 'tp.slice' op `. The rest of the
/// message says what the op expects and what it got. This replaces
/// `emitOpError()`, which has no code; test/conventions.py checks for that.
inline mlir::InFlightDiagnostic emitOpError(mlir::Operation *op,
                                            ErrorCode code) {
  return op->emitError() << prefix(code) << "'" << op->getName() << "' op ";
}

/// The location of an argument of a function; the function's location if the
/// argument has none.
inline mlir::Location getArgumentLoc(mlir::FunctionOpInterface function,
                                     unsigned index) {
  mlir::Region &body = function.getFunctionBody();
  if (body.empty() || index >= body.getNumArguments() ||
      mlir::isa<mlir::UnknownLoc>(body.getArgument(index).getLoc()))
    return function->getLoc();
  return body.getArgument(index).getLoc();
}

} // namespace tp

#endif // TPOPT_DIALECTS_OPERROR_H
