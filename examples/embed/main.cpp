// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A compiler of your own in one page: reads a program, shards it over a mesh by
// our passes, simplifies it by MLIR's, and prints what one device runs.
//
//     shard mlp.mlir model=4

#include "tpopt/InitAll.h"
#include "tpopt/Passes/Pipelines/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/Support/SourceMgr.h"

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs()
        << "usage: shard FILE.mlir MESH, as in shard mlp.mlir model=4\n";
    return 1;
  }
  // Our dialects, and whatever your programs use beside them.
  mlir::DialectRegistry registry;
  tp::registerTPOptDialects(registry);
  registry.insert<mlir::func::FuncDialect>();
  mlir::MLIRContext context(registry);

  // With a source manager, errors show the line that they are about.
  std::string error;
  auto file = mlir::openInputFile(argv[1], &error);
  if (!file) {
    llvm::errs() << error << '\n';
    return 1;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return 1;

  tp::ShardOptions options;
  options.mesh = argv[2];
  mlir::PassManager manager(&context);
  tp::buildShardPipeline(manager, options);
  manager.addPass(mlir::createCanonicalizerPass());
  if (mlir::failed(manager.run(*module)))
    return 1;
  module->print(llvm::outs());
  return 0;
}
