// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What verification takes, for the report.

#ifndef TPOPT_PASSES_VERIFY_STOPWATCH_H
#define TPOPT_PASSES_VERIFY_STOPWATCH_H

#include "dialects/TP/Interface.h"
#include "tpopt/Dialect/TP/TP.h"

#include <chrono>

namespace tp {

/// Runs from when it is made.
class Stopwatch {
public:
  /// Adds the time so far to what earlier passes took.
  void addTo(mlir::ModuleOp module) {
    std::chrono::duration<double, std::micro> time =
        std::chrono::steady_clock::now() - start;
    double before = 0;
    if (auto known = module->getAttrOfType<mlir::FloatAttr>(kVerifyTimeAttr))
      before = known.getValueAsDouble();
    module->setAttr(
        kVerifyTimeAttr,
        mlir::FloatAttr::get(mlir::Float64Type::get(module.getContext()),
                             before + time.count()));
  }

private:
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_STOPWATCH_H
