// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The order of the compiler's stages.

#include "tpopt/Passes/Pipelines/Pipelines.h"

#include "tpopt/Passes/Collectives/Passes.h"
#include "tpopt/Passes/Import/Passes.h"
#include "tpopt/Passes/Localize/Passes.h"
#include "tpopt/Passes/Lower/Passes.h"
#include "tpopt/Passes/Partition/Passes.h"
#include "tpopt/Passes/Propagate/Passes.h"
#include "tpopt/Passes/Schedule/Passes.h"
#include "tpopt/Passes/Train/Passes.h"
#include "tpopt/Passes/Verify/Passes.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tp;

/// Adds the passes that bring a user's program into a form that can be
/// partitioned.
static void addPreparation(OpPassManager &manager) {
  manager.addPass(createImportStableHLOPass());
  manager.addPass(createInlineCallsPass());
  manager.addPass(createRaisePass());
  manager.addPass(createSplitPackedPass());
}

/// Adds the passes of one stage.
static void addStage(OpPassManager &manager, Stage stage,
                     const ShardOptions &options, OverlapKinds overlap) {
  bool verifies = options.verify != Verification::Off;
  switch (stage) {
  case Stage::Import:
    addPreparation(manager);
    if (!options.mesh.empty())
      manager.addPass(createSetMeshPass({options.mesh}));
    // A plan names axes of its mesh, which a default mesh would not have.
    else if (options.defaultMesh && options.plan.empty() &&
             options.zero.empty())
      manager.addPass(createSetMeshPass({"device=1", /*ifMissing=*/true}));
    if (!options.plan.empty() || !options.zero.empty()) {
      ApplyPlanPassOptions plan;
      plan.plan = options.plan;
      plan.zero = options.zero;
      manager.addPass(createApplyPlanPass(plan));
    }
    if (verifies && options.stopAfter >= Stage::Collectives)
      manager.addPass(createKeepDigestPass({options.report}));
    return;
  case Stage::Propagate:
    manager.addPass(createPropagatePass({options.explain}));
    return;
  case Stage::Partition: {
    PartitionPassOptions partition;
    partition.machine = options.machine;
    partition.memory = options.memory;
    partition.prices = options.report;
    partition.warn = !options.strict;
    partition.overlap = overlap.steps;
    manager.addPass(createPartitionPass(partition));
  }
    if (verifies)
      manager.addPass(createVerifyShardingsPass({options.report}));
    return;
  case Stage::Collectives:
    manager.addPass(createPlanCollectivesPass({options.machine}));
    if (overlap.products) {
      ChunkProductsPassOptions chunk;
      chunk.machine = options.machine;
      manager.addPass(createChunkProductsPass(chunk));
    }
    {
      CombineCollectivesPassOptions combine;
      combine.machine = options.machine;
      manager.addPass(createCombineCollectivesPass(combine));
    }
    if (verifies) {
      manager.addPass(createVerifyShardingsPass({options.report}));
      manager.addPass(createVerifyStructurePass({options.report}));
    }
    return;
  case Stage::Localize:
    manager.addPass(createLocalizePass(
        {options.certificate || options.verify == Verification::Field}));
    if (verifies)
      manager.addPass(createVerifyLocalPass({options.report}));
    if (options.verify == Verification::Field) {
      VerifyPartitionPassOptions verify;
      verify.report = options.report;
      verify.keepCertificate = options.certificate;
      manager.addPass(createVerifyPartitionPass(verify));
    }
    return;
  }
  llvm_unreachable("covered switch");
}

void tp::buildShardPipeline(OpPassManager &manager, const ShardOptions &options,
                            OverlapKinds overlap) {
  for (Stage stage : {Stage::Import, Stage::Propagate, Stage::Partition,
                      Stage::Collectives, Stage::Localize}) {
    addStage(manager, stage, options, overlap);
    if (stage == options.stopAfter)
      return;
  }
}

void tp::buildCompilePipeline(OpPassManager &manager,
                              const CompileOptions &options) {
  bool writes =
      !options.artifact.empty() && options.stopAfter == Stage::Localize;
  if (options.part != CompilePart::Lower) {
    // The program that is kept must be one that the interpreter can run.
    manager.addPass(createImportStableHLOPass());
    if (writes) {
      manager.addPass(createNameInputsPass());
      manager.addPass(createKeepProgramPass());
    }
    // The plan does not depend on `overlap`, so that results have the same bits
    // with and without it.
    buildShardPipeline(
        manager, options,
        {/*steps=*/true, /*products=*/options.overlap && options.chunk});
    // The sharding part ends before the program is lowered, so its report needs
    // a separate measurement of memory.
    if (options.part == CompilePart::Shard && options.report &&
        options.stopAfter == Stage::Localize)
      manager.addPass(createMeasureMemoryPass(
          {options.target, options.fp8, options.overlap, options.inFlight}));
  }
  if (options.stopAfter != Stage::Localize ||
      options.part == CompilePart::Shard)
    return;
  if (writes)
    manager.addPass(createKeepProgramPass({/*isLocal=*/true}));
  manager.addPass(createLowerToStepPass({options.target, options.fp8}));
  if (options.overlap) {
    SchedulePassOptions schedule;
    schedule.inFlight = options.inFlight;
    manager.addPass(createSchedulePass(schedule));
  }
  manager.addNestedPass<step::ProgramOp>(createAssignBuffersPass());
  if (!writes)
    return;
  WriteArtifactPassOptions write;
  write.file = options.artifact;
  write.chips.assign(options.chips.begin(), options.chips.end());
  write.ptxas = options.ptxas;
  manager.addPass(createWriteArtifactPass(write));
}

void tp::buildTrainPipeline(OpPassManager &manager,
                            const TrainOptions &options) {
  addPreparation(manager);
  BuildStepPassOptions step;
  step.loss = options.loss;
  step.weight = options.weight;
  step.train = options.train;
  step.optimizer = options.optimizer;
  step.schedule = options.schedule;
  step.clip = options.clip;
  step.accumulate = options.accumulate;
  step.master = options.master;
  step.decay = options.decay;
  step.noDecay = options.noDecay;
  step.entry = options.entry;
  step.verify = options.verify;
  manager.addPass(createBuildStepPass(step));
}

void tp::buildCertificatePipeline(OpPassManager &manager,
                                  const CertificateOptions &options) {
  manager.addPass(createVerifyOriginPass({options.whole}, addPreparation));
  manager.addPass(createVerifyShardingsPass());
  manager.addPass(createVerifyLocalPass());
  VerifyPartitionPassOptions verify;
  verify.seed = options.seed;
  verify.keepCertificate = true;
  manager.addPass(createVerifyPartitionPass(verify));
}

namespace {
struct RenamedVerifierOptions : PassPipelineOptions<RenamedVerifierOptions> {
  Option<bool> report{*this, "report",
                      llvm::cl::desc("As in tp-verify-structure"),
                      llvm::cl::init(false)};
};
} // namespace

void tp::registerTPOptPipelines() {
  static PassPipelineRegistration<RenamedVerifierOptions> renamed(
      "tp-verify-collectives", "The earlier name of tp-verify-structure",
      [](OpPassManager &manager, const RenamedVerifierOptions &options) {
        manager.addPass(createVerifyStructurePass({options.report}));
      });
  static PassPipelineRegistration<CertificateOptions> certificate(
      "tp-verify-certificate",
      "Verify a partition by its certificate against the whole program",
      buildCertificatePipeline);
  static PassPipelineRegistration<CompileOptions> compile(
      "tp-compile",
      "Shard the program, lower it to steps, and compile it for a target",
      [](OpPassManager &manager, const CompileOptions &options) {
        buildCompilePipeline(manager, options);
      });
  static PassPipelineRegistration<ShardOptions> shard(
      "tp-shard",
      "Shard the program over its mesh: propagate, partition, plan "
      "collectives, "
      "localize",
      [](OpPassManager &manager, const ShardOptions &options) {
        buildShardPipeline(manager, options);
      });
  static PassPipelineRegistration<TrainOptions> train(
      "tp-train", "Make a training step from a program that computes a loss",
      [](OpPassManager &manager, const TrainOptions &options) {
        buildTrainPipeline(manager, options);
      });
}
