// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ExitCode.h"

#include "llvm/Support/raw_ostream.h"

using namespace tp;

static int toExitCode(std::optional<ErrorCode> error) {
  if (error == ErrorCode::DiskFull || error == ErrorCode::LimitReached ||
      error == ErrorCode::LinkFailed)
    return 3;
  return error == ErrorCode::CodegenFailed ? 2 : 1;
}

void ExitCode::add(std::optional<ErrorCode> error) {
  int mine = toExitCode(error), known = code;
  while (known < mine && !code.compare_exchange_weak(known, mine)) {
  }
}

void ExitCode::report(llvm::Error error) {
  ErrorMessage message = toMessage(std::move(error));
  llvm::errs() << "error: " << message.text << "\n";
  add(message.code);
}
