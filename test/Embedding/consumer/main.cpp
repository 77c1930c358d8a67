// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Somebody else's compiler: builds a pipeline out of ours and its own passes.

#include "tpopt/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

static const char *const source = R"mlir(
func.func @f(%x: tensor<8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
             %w: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %0 = tp.einsum "bi,io->bo" %x, %w : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
spmd.mesh @mesh <["model"=4]>
)mlir";

int main() {
  mlir::DialectRegistry registry;
  tp::registerTPOptDialects(registry);
  registry.insert<mlir::func::FuncDialect>();
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  if (!module || mlir::failed(mlir::verify(*module)))
    return 1;
  tp::ShardOptions options;
  options.stopAfter = tp::Stage::Propagate;
  mlir::PassManager manager(&context);
  tp::buildShardPipeline(manager, options);
  manager.addPass(mlir::createCanonicalizerPass());
  if (mlir::failed(manager.run(*module)))
    return 1;
  module->print(llvm::outs());
  return 0;
}
