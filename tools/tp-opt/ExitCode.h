// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The exit code that the errors of a run determine.

#ifndef TPOPT_TOOLS_TPOPT_EXITCODE_H
#define TPOPT_TOOLS_TPOPT_EXITCODE_H

#include "tpopt/Support/ErrorCodes.h"

#include "mlir/IR/Diagnostics.h"

#include <atomic>

namespace tp {

/// Collects errors from any thread; the worst one decides the exit code.
class ExitCode {
public:
  /// Counts an error. An error without a code counts as the user's: it comes
  /// from MLIR and is about text that does not parse.
  void add(std::optional<ErrorCode> error);
  /// Counts a diagnostic, if it is an error.
  void add(mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      add(getErrorCode(diagnostic));
  }
  /// Prints and counts an error that occurred outside of any pass.
  void report(llvm::Error error);

  /// Returns 0 if all is fine, 1 if the input is wrong, 2 for a bug of ours, 3
  /// if the environment failed, such as a full disk.
  int get() const { return code; }

  /// Adds the errors of another object.
  void add(const ExitCode &other);

  /// Prints how to learn more about the first error that had a code, if any.
  void printHint() const;

private:
  void add(unsigned number, int ofError);

  std::atomic<int> code = 0;
  std::atomic<unsigned> first = 0; ///< The number of an error code, or 0.
};

} // namespace tp

#endif // TPOPT_TOOLS_TPOPT_EXITCODE_H
