// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ExitCode.h"

#include "../Process/FrontDoor.h"

#include "llvm/Support/raw_ostream.h"

using namespace tp;

static int toExitCode(std::optional<ErrorCode> error) {
  if (error == ErrorCode::DiskFull || error == ErrorCode::LimitReached ||
      error == ErrorCode::LinkFailed)
    return 3;
  return error == ErrorCode::CodegenFailed ? 2 : 1;
}

void ExitCode::add(unsigned number, int ofError) {
  unsigned none = 0;
  first.compare_exchange_strong(none, number);
  int known = code;
  while (known < ofError && !code.compare_exchange_weak(known, ofError)) {
  }
}

void ExitCode::add(std::optional<ErrorCode> error) {
  add(error ? unsigned(*error) : 0, toExitCode(error));
}

void ExitCode::add(const ExitCode &other) { add(other.first, other.code); }

void ExitCode::report(llvm::Error error) {
  ErrorMessage message = toMessage(std::move(error));
  llvm::errs() << "error: " << message.text << "\n";
  add(message.code);
}

void ExitCode::printHint() const {
  if (first != 0)
    tp::printHint(ErrorCode(first.load()));
}
