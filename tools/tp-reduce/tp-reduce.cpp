// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reduces a program that shows a bug:
//
//   tp-reduce bug.mlir --reduction-tree='traversal-mode=0 test=check.sh'
//
// where check.sh exits with 1 if its argument still shows the bug.

#include "../Process/FrontDoor.h"
#include "../Process/Process.h"
#include "Reductions.h"

#include "tpopt/Dialect/Sdy/Sdy.h"
#include "tpopt/Dialect/StableHLO/StableHLO.h"
#include "tpopt/InitAll.h"

#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/raw_ostream.h"

static constexpr char kHelp[] =
    R"(usage: tp-reduce BUG.mlir --reduction-tree='traversal-mode=0 test=CHECK' [-o SMALL.mlir]

Reduces a program that shows a bug to a smaller one that still shows it.

  CHECK                a script that takes a program as its argument, and exits with 1 if the
                       program still shows the bug, with 0 if it does not
  --pass-pipeline=...  passes to run
  --version            the versions of this tool and of LLVM
  --help-mlir          all options: each reduction and each pass alone

Example of a script, for a crash: tp-opt "$1" --tp-shard; test $? -ne 139
)";

/// Prints a warning. Without this handler, MLIR prints errors but no warnings.
/// MLIR emits a warning if the test script does not find the bug in the input.
static mlir::LogicalResult printWarning(mlir::Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Warning)
    return mlir::failure();
  llvm::errs() << diagnostic.getLocation() << ": warning: " << diagnostic
               << "\n";
  return mlir::success();
}

int main(int argc, char **argv) {
  tp::setUpProcess();
  tp::setVersion("tp-reduce");
  if (tp::answerHelp(argc, argv, kHelp))
    return 0;
  mlir::DialectRegistry registry;
  tp::registerTPOptDialects(registry);
  tp::stablehlo::registerReaders(registry);
  tp::sdy::registerReader(registry);
  registry.insert<mlir::func::FuncDialect>();
  mlir::func::registerInlinerExtension(registry);
  tp::registerReductions(registry);
  tp::registerTPOptPasses();
  mlir::registerTransformsPasses();
  mlir::MLIRContext context(registry);
  context.getDiagEngine().registerHandler(printWarning);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
