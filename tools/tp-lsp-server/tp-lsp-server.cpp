// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The language server for editors: errors, definitions and hovers in .mlir
// files.

#include "../Process/FrontDoor.h"
#include "../Process/Process.h"

#include "tpopt/Dialect/Sdy/Sdy.h"
#include "tpopt/Dialect/StableHLO/StableHLO.h"
#include "tpopt/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  tp::setUpProcess();
  tp::setVersion("tp-lsp-server");
  tp::hideRegisteredOptions();
  mlir::DialectRegistry registry;
  tp::registerTPOptDialects(registry);
  tp::stablehlo::registerReaders(registry);
  tp::sdy::registerReader(registry);
  registry.insert<mlir::func::FuncDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
