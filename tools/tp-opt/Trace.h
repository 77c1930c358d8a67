// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The flag --tp-trace.

#ifndef TPOPT_TOOLS_TPOPT_TRACE_H
#define TPOPT_TOOLS_TPOPT_TRACE_H

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <chrono>
#include <mutex>

namespace tp {

/// Records when each pass ran and on which op, for ui.perfetto.dev: there is a
/// track for each thread that ran passes, with nested passes below the passes
/// that ran them.
class PassTrace {
public:
  /// Returns true if --tp-trace is given.
  static bool isRequested();

  /// Records the passes of a manager. The trace must outlive the manager.
  void attach(mlir::PassManager &manager);
  /// Writes the file that the flag names.
  llvm::Error write();

private:
  class Instrumentation;
  using Clock = std::chrono::steady_clock;

  const Clock::time_point origin = Clock::now();
  std::mutex mutex;
  llvm::json::Array events;
};

} // namespace tp

#endif // TPOPT_TOOLS_TPOPT_TRACE_H
