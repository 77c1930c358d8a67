// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Support/ErrorCodes.h"

#include "llvm/Support/ErrorHandling.h"

using namespace tp;

llvm::StringRef tp::prefix(ErrorCode code) {
  switch (code) {
#define TP_ERROR(number, enumerator, text)                                     \
  case ErrorCode::enumerator:                                                  \
    return "[TP0" #number "] ";
#include "tpopt/Support/ErrorCodes.def"
  }
  llvm_unreachable("every code is a line of ErrorCodes.def");
}

llvm::StringRef tp::describe(ErrorCode code) {
  switch (code) {
#define TP_ERROR(number, enumerator, text)                                     \
  case ErrorCode::enumerator:                                                  \
    return text;
#include "tpopt/Support/ErrorCodes.def"
  }
  llvm_unreachable("every code is a line of ErrorCodes.def");
}
