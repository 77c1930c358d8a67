// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Somebody else's compiler: builds a pipeline out of ours and its own passes.

#include "tpopt/Import/Import.h"
#include "tpopt/InitAll.h"
#include "tpopt/Sharding/Propagation.h"
#include "tpopt/Support/ErrorCodes.h"

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

/// The pass library: a part of our pipeline among others' passes.
static bool runPipeline(mlir::MLIRContext &context) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  if (!module || mlir::failed(mlir::verify(*module)))
    return false;
  tp::ShardOptions options;
  options.stopAfter = tp::Stage::Propagate;
  mlir::PassManager manager(&context);
  tp::buildShardPipeline(manager, options);
  manager.addPass(mlir::createCanonicalizerPass());
  if (mlir::failed(manager.run(*module)))
    return false;
  module->print(llvm::outs());
  return true;
}

/// The algebra without MLIR: what one annotated operand makes of a product.
static bool propagateAlone() {
  tp::Mesh mesh;
  mesh.axes.push_back({"model", 4, {}});
  llvm::Expected<tp::ShardingRule> rule =
      tp::ShardingRule::parse("bi,io->bo", {{8, 16}, {16, 4}}, {{8, 4}});
  if (!rule) {
    llvm::consumeError(rule.takeError());
    return false;
  }
  auto open = tp::TensorSharding::replicate(2, /*open=*/true);
  tp::TensorSharding cut = open;
  cut.dims[1].axes.push_back({/*axis=*/0, /*pre=*/1, /*size=*/4});
  tp::PropagationGraph graph;
  tp::ValueId x = graph.addValue({8, 16}, 32, open);
  tp::ValueId w = graph.addValue({16, 4}, 32, cut);
  tp::ValueId y = graph.addValue({8, 4}, 32, open);
  graph.addOp(&*rule, {x, w}, {y}, tp::OpClass::Other);
  tp::Provenance provenance;
  if (tp::propagate(graph, mesh, provenance))
    return false;
  llvm::outs() << "y " << graph.getSharding(y).str(mesh) << '\n';
  return true;
}

/// Errors have codes, and what was to be imported says why it is not.
static void printCodes(mlir::MLIRContext &context) {
  mlir::ScopedDiagnosticHandler handler(
      &context, [](mlir::Diagnostic &diagnostic) {
        if (auto code = tp::getErrorCode(diagnostic))
          llvm::outs() << "error " << unsigned(*code) << '\n';
        return mlir::success();
      });
  tp::importModel("hf:no-such-folder", tp::ImportOptions(), &context);
}

int main() {
  mlir::DialectRegistry registry;
  tp::registerTPOptDialects(registry);
  registry.insert<mlir::func::FuncDialect>();
  mlir::MLIRContext context(registry);
  if (!runPipeline(context) || !propagateAlone())
    return 1;
  printCodes(context);
  return 0;
}
