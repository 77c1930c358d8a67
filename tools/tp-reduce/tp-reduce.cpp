// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Makes a program that shows a bug small:
//
//   tp-reduce bug.mlir --reduction-tree='traversal-mode=0 test=check.sh'
//
// where check.sh exits with 1 if its argument still shows the bug.

#include "tpopt/Dialect/Sdy/Sdy.h"
#include "tpopt/Dialect/StableHLO/StableHLO.h"
#include "tpopt/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tp::registerTPOptDialects(registry);
  tp::stablehlo::registerReaders(registry);
  tp::sdy::registerReader(registry);
  registry.insert<mlir::func::FuncDialect>();
  tp::registerTPOptPasses();
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
