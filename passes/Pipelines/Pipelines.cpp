// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The order of the stages.

#include "tpopt/Passes/Pipelines/Pipelines.h"

#include "tpopt/Passes/Collectives/Passes.h"
#include "tpopt/Passes/Localize/Passes.h"
#include "tpopt/Passes/Partition/Passes.h"
#include "tpopt/Passes/Propagate/Passes.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tp;

namespace {
/// The stages in order, each with what it adds.
struct Stage {
  llvm::StringLiteral name;
  void (*add)(OpPassManager &, const ShardOptions &);
};
} // namespace

static const Stage stages[] = {
    {"import",
     [](OpPassManager &manager, const ShardOptions &options) {
       if (!options.mesh.empty())
         manager.addPass(createSetMeshPass({options.mesh}));
       manager.addPass(createInlinerPass());
       manager.addPass(createSymbolDCEPass());
     }},
    {"propagate",
     [](OpPassManager &manager, const ShardOptions &options) {
       manager.addPass(createPropagatePass({options.explain}));
     }},
    {"partition",
     [](OpPassManager &manager, const ShardOptions &) {
       manager.addPass(createPartitionPass());
     }},
    {"collectives",
     [](OpPassManager &manager, const ShardOptions &) {
       manager.addPass(createPlanCollectivesPass());
     }},
    {"localize",
     [](OpPassManager &manager, const ShardOptions &) {
       manager.addPass(createLocalizePass());
     }},
};

void tp::buildShardPipeline(OpPassManager &manager,
                            const ShardOptions &options) {
  for (const Stage &stage : stages) {
    stage.add(manager, options);
    if (stage.name == options.stopAfter)
      return;
  }
}

void tp::registerTPOptPipelines() {
  static PassPipelineRegistration<ShardOptions> shard(
      "tp-shard",
      "Shard the program over its mesh: propagate, partition, plan collectives, "
      "localize",
      [](OpPassManager &manager, const ShardOptions &options) {
        buildShardPipeline(manager, options);
      });
}
