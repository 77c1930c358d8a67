// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The exit code that the errors of a run ask for.

#ifndef TPOPT_TOOLS_TPOPT_EXITCODE_H
#define TPOPT_TOOLS_TPOPT_EXITCODE_H

#include "tpopt/Support/ErrorCodes.h"

#include "mlir/IR/Diagnostics.h"

#include <atomic>

namespace tp {

/// Collects errors, from any thread; the worst one decides.
class ExitCode {
public:
  /// Counts an error. One without a code is the user's: MLIR's own, of text
  /// that does not parse.
  void add(std::optional<ErrorCode> error);
  /// Counts a diagnostic, if it is an error.
  void add(mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      add(getErrorCode(diagnostic));
  }
  /// Prints and counts what went wrong outside of any pass.
  void report(llvm::Error error);

  /// 0 fine, 1 the input is wrong, 2 a bug of ours, 3 the environment failed,
  /// such as a full disk.
  int get() const { return code; }

private:
  std::atomic<int> code = 0;
};

} // namespace tp

#endif // TPOPT_TOOLS_TPOPT_EXITCODE_H
