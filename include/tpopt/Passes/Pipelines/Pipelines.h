// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The order of the stages, which is defined only here.
///
///     import -> propagate -> partition -> collectives -> localize -> lower
///
/// `--tp-shard` runs `buildShardPipeline`, which ends after localize and which
/// embedders can call. `--tp-compile` runs `buildCompilePipeline`, which
/// produces an artifact.

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

/// The stages in order.
enum class Stage : uint8_t {
  Import,
  Propagate,
  Partition,
  Collectives,
  Localize,
};

/// How thoroughly the compiler verifies its own output.
enum class Verification : uint8_t {
  Off,
  Static, ///< Rules and structure.
  Field,  ///< Also computes both programs in a prime field.
};

/// The options of `--tp-shard="..."`, separated by blanks.
struct ShardOptions : mlir::PassPipelineOptions<ShardOptions> {
  Option<std::string> mesh{
      *this, "mesh",
      llvm::cl::desc("Define or override the module's mesh: data=2,model=4")};
  Option<bool> defaultMesh{
      *this, "default-mesh",
      llvm::cl::desc("Run a program that has no mesh on one device, as tp-run "
                     "does")};
  Option<std::string> plan{
      *this, "plan",
      llvm::cl::desc(
          "How to cut the program: one or more of megatron, sp, ddp and fsdp, "
          "joined with +, or a JSON file of name patterns")};
  Option<std::string> zero{
      *this, "zero",
      llvm::cl::desc("Stage of ZeRO: also cut optimizer state (1), gradients "
                     "(2), parameters (3) along the data axis; 1:AXIS uses "
                     "AXIS instead of data")};
  Option<std::string> machine{
      *this, "machine",
      llvm::cl::desc(
          "Device to predict times for: h100, h200, cpu, or a JSON file")};
  Option<std::string> memory{
      *this, "memory",
      llvm::cl::desc("Memory that a device may use, as in 72GiB; by default "
                     "all memory of the machine")};
  Option<Stage> stopAfter{
      *this, "stop-after", llvm::cl::desc("Last stage to run"),
      llvm::cl::values(
          clEnumValN(Stage::Import, "import", "Mesh, plan, inlined calls"),
          clEnumValN(Stage::Propagate, "propagate",
                     "Every value has a sharding"),
          clEnumValN(
              Stage::Partition, "partition",
              "Every op computes in one sharding, with reshards in between"),
          clEnumValN(Stage::Collectives, "collectives",
                     "Reshards are collectives, on global types"),
          clEnumValN(Stage::Localize, "localize", "The program of one device")),
      llvm::cl::init(Stage::Localize)};
  Option<Verification> verify{
      *this, "verify", llvm::cl::desc("How to verify the partition"),
      llvm::cl::values(
          clEnumValN(Verification::Off, "off", "Not at all"),
          clEnumValN(Verification::Static, "static",
                     "By sharding rules and structure"),
          clEnumValN(Verification::Field, "field",
                     "Also by computing both programs in a prime field")),
      llvm::cl::init(Verification::Field)};
  Option<bool> certificate{
      *this, "certificate",
      llvm::cl::desc("Leave the proof of the partition in the module, for "
                     "tp-verify-certificate")};
  Option<bool> report{
      *this, "report-verification",
      llvm::cl::desc("Record in the module how it was verified and the cost of "
                     "its plan, for tp-report")};
  Option<bool> explain{
      *this, "explain",
      llvm::cl::desc("Record why values are sharded as they are")};
  Option<bool> strict{
      *this, "strict",
      llvm::cl::desc("Do not print warnings that tp-strict reports as errors")};
};

/// The communication that will run during computation, if the machine is known.
struct OverlapKinds {
  /// During steps that do not need its result: the program will be scheduled.
  bool steps = false;
  /// During the product that needs its result: blocks are sent while others
  /// are multiplied (`tp-chunk-products`).
  bool products = false;
};

/// Adds the stages up to `options.stopAfter`.
void buildShardPipeline(mlir::OpPassManager &manager,
                        const ShardOptions &options, OverlapKinds overlap = {});

/// Which part of the pipeline `tp-compile` runs. Passes that need sharding
/// information, such as `tp-report`, must run between `tp-compile{part=shard}`
/// and `tp-compile{part=lower}`, because the compiled program no longer
/// contains it. All other options of the two parts must be the same.
enum class CompilePart : uint8_t { All, Shard, Lower };

/// The options of `--tp-compile="..."`: those of `--tp-shard`, and those about
/// the target.
struct CompileOptions : ShardOptions {
  Option<std::string> target{*this, "target", llvm::cl::desc("cpu or cuda"),
                             llvm::cl::init("cpu")};
  Option<bool> fp8{
      *this, "fp8",
      llvm::cl::desc(
          "Multiply f8E4M3FN without conversion, on GPUs from sm_89 on")};
  Option<bool> overlap{
      *this, "overlap",
      llvm::cl::desc("Overlap collectives with computing, if machine= is given "
                     "to predict their times; the plan is the same without"),
      llvm::cl::init(true)};
  Option<bool> chunk{
      *this, "chunk",
      llvm::cl::desc(
          "Overlap products with their own all-gather or reduce-scatter, block "
          "by block, if overlap is on and it is faster"),
      llvm::cl::init(true)};
  Option<std::string> inFlight{
      *this, "in_flight",
      llvm::cl::desc("Memory for running collectives, as in 512MiB; by default "
                     "1/32 of the machine's memory")};
  ListOption<std::string> chips{
      *this, "chips",
      llvm::cl::desc("The GPUs to compile for: sm_80,sm_90a,sm_100")};
  Option<std::string> ptxas{
      *this, "ptxas",
      llvm::cl::desc("Path of NVIDIA's assembler, or none to store only PTX; "
                     "by default tp-opt searches for ptxas")};
  Option<std::string> artifact{
      *this, "artifact", llvm::cl::desc("The .tpx file to write for tp-run")};
  Option<CompilePart> part{
      *this, "part",
      llvm::cl::desc(
          "Run only the first or the second half of the pipeline, so that "
          "other passes can use the sharded program in between"),
      llvm::cl::values(
          clEnumValN(CompilePart::All, "all", "The whole pipeline"),
          clEnumValN(CompilePart::Shard, "shard", "The stages of tp-shard"),
          clEnumValN(CompilePart::Lower, "lower", "The stages after them")),
      llvm::cl::init(CompilePart::All)};
};

/// Adds all stages, and the writing of the artifact if `options` names one.
void buildCompilePipeline(mlir::OpPassManager &manager,
                          const CompileOptions &options);

/// The options of `--tp-train="..."`, those of the pass `tp-build-step`.
struct TrainOptions : mlir::PassPipelineOptions<TrainOptions> {
  Option<std::string> loss{
      *this, "loss", llvm::cl::desc("The result that training minimizes")};
  Option<std::string> weight{
      *this, "weight",
      llvm::cl::desc("The result that is the weight of a micro-batch's loss")};
  Option<std::string> train{*this, "train",
                            llvm::cl::desc("Name patterns of the arguments to "
                                           "train; by default all parameters")};
  Option<std::string> optimizer{
      *this, "optimizer",
      llvm::cl::desc("sgd, adam, adamw, lion or adafactor, as in "
                     "adamw(lr=3e-4)")};
  Option<std::string> schedule{
      *this, "schedule",
      llvm::cl::desc("constant, linear or cosine, as in "
                     "cosine(warmup=100,steps=1000)")};
  Option<std::string> clip{
      *this, "clip",
      llvm::cl::desc(
          "Largest norm of all gradients; larger gradients are scaled down")};
  Option<std::string> accumulate{
      *this, "accumulate", llvm::cl::desc("Number of micro-batches in a step")};
  Option<std::string> master{
      *this, "master",
      llvm::cl::desc("f32: keep a copy of each bf16 parameter in f32, and "
                     "update the copy")};
  Option<std::string> decay{
      *this, "decay",
      llvm::cl::desc(
          "Name patterns of the parameters with weight decay; by default all")};
  Option<std::string> noDecay{
      *this, "no_decay",
      llvm::cl::desc("Name patterns of the parameters without weight decay")};
  Option<std::string> entry{
      *this, "entry",
      llvm::cl::desc("The function to train, if the module has several")};
  Option<bool> verify{*this, "verify", llvm::cl::desc("Prove the gradients"),
                      llvm::cl::init(true)};
};

/// Adds the passes that turn a program that computes a loss into a training
/// step. They run before the program is sharded.
void buildTrainPipeline(mlir::OpPassManager &manager,
                        const TrainOptions &options);

/// The options of `--tp-verify-certificate="..."`.
struct CertificateOptions : mlir::PassPipelineOptions<CertificateOptions> {
  Option<std::string> whole{*this, "whole",
                            llvm::cl::desc("The file of the whole program")};
  Option<uint64_t> seed{*this, "seed",
                        llvm::cl::desc("Seed of the random data"),
                        llvm::cl::init(1)};
};

/// Adds the passes that verify a partition against the whole program by means
/// of its certificate. They share no code with partitioning:
///
/// 1. The global functions of the certificate are those of the whole program
///    (`tp-verify-origin`).
/// 2. The global functions obey the rules of shardings (`tp-verify-shardings`),
///    and the local functions obey those of local types (`tp-verify-local`).
/// 3. For every op of the global functions, the corresponding local ops compute
///    the same (`tp-verify-partition`).
void buildCertificatePipeline(mlir::OpPassManager &manager,
                              const CertificateOptions &options);

/// Registers `--tp-shard`, `--tp-compile`, `--tp-train` and
/// `--tp-verify-certificate`.
void registerTPOptPipelines();

} // namespace tp

#endif // TPOPT_PASSES_PIPELINES_PIPELINES_H
