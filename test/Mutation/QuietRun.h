// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Passes over damaged programs, and what came of them.

#ifndef TPOPT_TEST_MUTATION_QUIETRUN_H
#define TPOPT_TEST_MUTATION_QUIETRUN_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <string>

namespace tp {

/// What became of the mutants of one way to damage.
struct Tally {
  unsigned refused = 0, harmless = 0, missed = 0;
  unsigned strict = 0; ///< Refused, though no data set shows why.
};

/// Runs passes and keeps the first error to itself.
class QuietRun {
public:
  explicit QuietRun(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          if (message.empty() &&
              diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
            message = diagnostic.str();
          return mlir::success();
        }) {}

  bool run(mlir::ModuleOp module,
           llvm::function_ref<void(mlir::OpPassManager &)> build) {
    mlir::PassManager manager(module.getContext());
    build(manager);
    return mlir::succeeded(manager.run(module));
  }
  std::string message;

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace tp

#endif // TPOPT_TEST_MUTATION_QUIETRUN_H
