// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The order of the stages: the only place that knows it.
///
///     import -> propagate -> partition -> collectives -> localize
///
/// `buildShardPipeline` is what `--tp-shard` runs and what embedders call.

#ifndef TPOPT_PASSES_PIPELINES_PIPELINES_H
#define TPOPT_PASSES_PIPELINES_PIPELINES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

namespace tp {

#define GEN_PASS_DECL
#include "tpopt/Passes/Pipelines/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "tpopt/Passes/Pipelines/Passes.h.inc"

/// The options of `--tp-shard="..."`, separated by blanks.
struct ShardOptions : mlir::PassPipelineOptions<ShardOptions> {
  Option<std::string> mesh{
      *this, "mesh",
      llvm::cl::desc("Define or override the module's mesh: data=2,model=4")};
  Option<std::string> stopAfter{
      *this, "stop-after",
      llvm::cl::desc(
          "Last stage to run: import, propagate, partition, collectives or "
          "localize"),
      llvm::cl::init("localize")};
  Option<bool> explain{
      *this, "explain",
      llvm::cl::desc("Record why values are sharded as they are")};
};

/// Adds the stages up to `options.stopAfter`.
void buildShardPipeline(mlir::OpPassManager &manager,
                        const ShardOptions &options);

/// Registers `--tp-shard`.
void registerTPOptPipelines();

} // namespace tp

#endif // TPOPT_PASSES_PIPELINES_PIPELINES_H
