// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The codes that prefix every user error: `[TP0204] what: why`.

#ifndef TPOPT_SUPPORT_ERRORCODES_H
#define TPOPT_SUPPORT_ERRORCODES_H

#include "llvm/ADT/StringRef.h"

namespace tp {

/// One enumerator per line of ErrorCodes.def; the value is the number.
enum class ErrorCode : unsigned {
#define TP_ERROR(number, enumerator, text) enumerator = number,
#include "tpopt/Support/ErrorCodes.def"
};

/// `"[TP0204] "`: what an error message starts with, as in
/// `op->emitError() << prefix(ErrorCode::AxisUsedTwice) << "axis ..."`.
llvm::StringRef prefix(ErrorCode code);

/// What an error of this code means and how to mend it, one sentence.
llvm::StringRef describe(ErrorCode code);

} // namespace tp

#endif // TPOPT_SUPPORT_ERRORCODES_H
