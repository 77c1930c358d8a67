// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Measures the time that verification takes, for the report.

#ifndef TPOPT_PASSES_VERIFY_STOPWATCH_H
#define TPOPT_PASSES_VERIFY_STOPWATCH_H

#include "dialects/TP/Interface.h"
#include "tpopt/Dialect/TP/TP.h"

#include <chrono>
#include <optional>

namespace tp {

/// Measures the time since its construction.
class Stopwatch {
public:
  /// Adds the elapsed time to that of earlier passes. If `verified` is given,
  /// also records in the plan that the program is verified to this degree.
  void addTo(mlir::ModuleOp module, std::optional<Verified> verified = {}) {
    std::chrono::duration<double, std::micro> time =
        std::chrono::steady_clock::now() - start;
    PlanRecord plan = PlanRecord::get(module);
    plan.verifyMicroseconds += time.count();
    plan.verified = verified.value_or(plan.verified);
    plan.set(module);
  }

private:
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_STOPWATCH_H
