// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Damages partitions and counts who notices.
//
//     tp-mutate [--mutants=N] [--seed=N] [--mesh=..] [--way=NAME].. [--chunk]
//               [--show] FILE.mlir...
//     tp-mutate --against [--field] ..      see Against.h
//     tp-mutate --training=OPTIMIZER ..     see Training.h
//
// Every program is partitioned, which must verify, and then damaged N times in
// ways and places drawn at random. A damaged program that verifies is run
// beside the whole one: if results differ, it was missed. The certificate of
// what is refused must be refused as well, by itself beside the file. The exit
// status is 1 if something was missed.

#include "Against.h"
#include "Mutations.h"
#include "QuietRun.h"
#include "Training.h"

#include "dialects/TP/Interface.h"
#include "lib/Interpreter/FieldEvaluator.h"
#include "passes/Verify/Divergence.h"
#include "passes/Verify/RandomData.h"
#include "tpopt/Dialect/Sdy/Sdy.h"
#include "tpopt/Dialect/StableHLO/StableHLO.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/InitAll.h"
#include "tpopt/Passes/Collectives/Passes.h"
#include "tpopt/Passes/Localize/Passes.h"
#include "tpopt/Passes/Partition/Passes.h"
#include "tpopt/Passes/Pipelines/Pipelines.h"
#include "tpopt/Passes/Propagate/Passes.h"
#include "tpopt/Passes/Verify/Passes.h"

#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tp;
using namespace tp::interp;

static llvm::cl::list<std::string> files(llvm::cl::Positional,
                                         llvm::cl::desc("FILE.mlir..."),
                                         llvm::cl::OneOrMore);
static llvm::cl::opt<unsigned> mutants("mutants", llvm::cl::init(50),
                                       llvm::cl::desc("Per file"));
static llvm::cl::opt<uint64_t> seed("seed", llvm::cl::init(1));
static llvm::cl::opt<std::string> mesh("mesh", llvm::cl::desc("As tp-shard"));
static llvm::cl::opt<bool>
    chunk("chunk", llvm::cl::desc("Let blocks of every product travel that "
                                  "can be chunked"));
static llvm::cl::opt<bool>
    against("against", llvm::cl::desc("Damage local programs, and ask "
                                      "tp-verify-against; --mutants=0 asks it "
                                      "of what is not damaged"));
static llvm::cl::opt<bool> field("field",
                                 llvm::cl::desc("Ask with field=true"));
static llvm::cl::opt<std::string>
    training("training", llvm::cl::desc("Damage gradients and steps, which "
                                        "update by adamw(lr=0.1), say"));
static llvm::cl::opt<std::string>
    weight("weight", llvm::cl::desc("The result that weighs micro-batches"));
static llvm::cl::list<std::string> ways("way",
                                        llvm::cl::desc("Only this damage"));
static llvm::cl::opt<bool> show("show", llvm::cl::desc("Print each error"));

namespace {

class FileMutator {
public:
  FileMutator(ModuleOp whole, std::string name)
      : whole(whole), name(std::move(name)) {}

  bool prepare();
  void mutate(llvm::MapVector<StringRef, Tally> &tallies,
              std::map<std::string, unsigned> &codes);

private:
  enum class Outcome { Refused, Harmless, Missed };
  std::optional<Outcome> tryOne(const Mutation &mutation, Random &random,
                                std::string &message, std::string &place);
  bool isEqual(ModuleOp certified);
  bool hasBadCertificate(ModuleOp module, bool isLocal);

  ModuleOp whole;
  std::string name;
  OwningOpRef<ModuleOp> global, certified;
};

} // namespace

static void addLocalChecks(OpPassManager &manager) {
  VerifyPartitionPassOptions options;
  options.keepCertificate = true;
  manager.addPass(createVerifyPartitionPass(options));
}

static void addGlobalChecks(OpPassManager &manager) {
  manager.addPass(createVerifyShardingsPass());
  manager.addPass(createVerifyStructurePass());
  manager.addPass(createLocalizePass({/*keepGlobal=*/true}));
  addLocalChecks(manager);
}

bool FileMutator::prepare() {
  QuietRun quiet(whole.getContext());
  bool isFine = quiet.run(whole, [&](OpPassManager &manager) {
    ShardOptions options;
    options.mesh = mesh;
    options.stopAfter = Stage::Import;
    buildShardPipeline(manager, options);
  });
  global = whole.clone();
  isFine = isFine && quiet.run(*global, [](OpPassManager &manager) {
    manager.addPass(createKeepDigestPass());
    manager.addPass(createPropagatePass());
    manager.addPass(createPartitionPass());
    manager.addPass(createPlanCollectivesPass());
    ChunkProductsPassOptions options;
    options.machine = "h100";
    options.force = true;
    if (chunk)
      manager.addPass(createChunkProductsPass(options));
  });
  if (isFine) {
    certified = global->clone();
    isFine = quiet.run(*certified, addGlobalChecks);
  }
  if (isFine) {
    OwningOpRef<ModuleOp> copy = certified->clone();
    isFine = !hasBadCertificate(*copy, /*isLocal=*/true);
  }
  if (!isFine)
    llvm::errs() << name
                 << ": the partition itself is refused: " << quiet.message
                 << "\n";
  return isFine;
}

/// Whether the local programs compute what the whole ones do.
bool FileMutator::isEqual(ModuleOp module) {
  for (auto function : whole.getOps<func::FuncOp>()) {
    auto local = module.lookupSymbol<func::FuncOp>(function.getName());
    FailureOr<Program> a = Program::analyze(function),
                       b = Program::analyze(local);
    if (failed(a) || failed(b))
      return false;
    for (unsigned trial = 0; trial < 4; ++trial) {
      FieldEvaluator evaluator(seed + trial);
      SmallVector<TensorValue> arguments =
          drawArguments(evaluator, function, DataSet{seed, trial});
      Interpreter interpreter(evaluator);
      auto wanted = interpreter.run(*a, arguments);
      auto made = interpreter.run(*b, arguments);
      if (failed(wanted) || failed(made))
        return false;
      for (auto [x, y] : llvm::zip_equal(*made, *wanted))
        if (findDifference(evaluator, x, y, /*tolerance=*/0))
          return false;
    }
  }
  return true;
}

/// Whether no certificate comes of `module`, or one that does not hold.
bool FileMutator::hasBadCertificate(ModuleOp module, bool isLocal) {
  QuietRun quiet(module.getContext());
  return failed(verify(module)) ||
         !quiet.run(module, [&](OpPassManager &manager) {
           if (!isLocal)
             manager.addPass(createLocalizePass({/*keepGlobal=*/true}));
           CertificateOptions options;
           options.whole = name;
           buildCertificatePipeline(manager, options);
         });
}

/// What may be damaged, in an order that clones have, too.
static SmallVector<Operation *> getOps(ModuleOp module) {
  SmallVector<Operation *> ops;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function->hasAttr(kLocalFormAttr))
      function.walk([&](Operation *op) {
        if (op != function)
          ops.push_back(op);
      });
  return ops;
}

std::optional<FileMutator::Outcome>
FileMutator::tryOne(const Mutation &mutation, Random &random,
                    std::string &message, std::string &place) {
  ModuleOp source = mutation.isLocal ? *certified : *global;
  OwningOpRef<ModuleOp> module = source.clone();
  SmallVector<Operation *> ops = getOps(*module);
  if (ops.empty())
    return std::nullopt;
  std::optional<size_t> number =
      applySomewhere(mutation, ops, getNumDraws(ways), random);
  if (!number)
    return std::nullopt;
  place = print(getOps(source)[*number]);
  OwningOpRef<ModuleOp> copy = module->clone();
  QuietRun quiet(module->getContext());
  bool passes =
      succeeded(verify(*module)) &&
      quiet.run(*module, mutation.isLocal ? addLocalChecks : addGlobalChecks);
  message = quiet.message;
  if (!passes)
    return hasBadCertificate(*copy, mutation.isLocal) ? Outcome::Refused
                                                      : Outcome::Missed;
  return isEqual(*module) ? Outcome::Harmless : Outcome::Missed;
}

void FileMutator::mutate(llvm::MapVector<StringRef, Tally> &tallies,
                         std::map<std::string, unsigned> &codes) {
  Random random(seed);
  SmallVector<Mutation> mutations(getGlobalMutations());
  llvm::append_range(mutations, getLocalMutations());
  mutations = pickWays(mutations, ways);
  if (mutations.empty())
    return;
  // Ways that are possible nowhere in a program end in attempts.
  unsigned done = 0, attempts = 0;
  while (done < mutants && attempts++ < mutants * 200) {
    const Mutation &mutation = mutations[random.below(mutations.size())];
    std::string message, place;
    std::optional<Outcome> outcome = tryOne(mutation, random, message, place);
    if (!outcome)
      continue;
    ++done;
    Tally &tally = tallies[mutation.name];
    switch (*outcome) {
    case Outcome::Refused: {
      ++tally.refused;
      StringRef code =
          StringRef(message).take_until([](char c) { return c == ']'; });
      ++codes[code.starts_with("[TP") ? code.drop_front().str() : "verifier"];
      break;
    }
    case Outcome::Harmless:
      ++tally.harmless;
      break;
    case Outcome::Missed:
      ++tally.missed;
      llvm::outs() << "MISSED: " << name << ": " << mutation.name << " at "
                   << place << "\n";
      break;
    }
    if (show)
      llvm::outs() << mutation.name << ": "
                   << (message.empty() ? "verifies" : message) << "\n";
  }
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv, "damages partitions\n");
  DialectRegistry registry;
  registerTPOptDialects(registry);
  registerTPOptPipelines(); // by which tp-verify-against prepares programs
  tp::stablehlo::registerReaders(registry);
  tp::sdy::registerReader(registry);
  registry.insert<func::FuncDialect>();
  func::registerInlinerExtension(registry);
  llvm::MapVector<StringRef, Tally> tallies;
  std::map<std::string, unsigned> codes;
  unsigned refusals = 0;
  for (const std::string &file : files) {
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    if (against) {
      refusals +=
          !mutateAgainst(file, {mesh, field, mutants, seed}, context, tallies);
      continue;
    }
    if (!training.empty()) {
      refusals +=
          !mutateTraining(file, {training, weight, mutants, seed, show, ways},
                          context, tallies);
      continue;
    }
    OwningOpRef<ModuleOp> whole = parseSourceFile<ModuleOp>(file, &context);
    if (!whole)
      return 1;
    FileMutator mutator(*whole, file);
    if (mutator.prepare())
      mutator.mutate(tallies, codes);
    else
      ++refusals;
  }
  Tally all;
  for (auto [name, tally] : tallies) {
    llvm::outs() << llvm::formatv("{0,-36}{1,6} refused{2,6} harmless{3,6} "
                                  "missed{4,6} strict\n",
                                  name, tally.refused, tally.harmless,
                                  tally.missed, tally.strict);
    all.strict += tally.strict;
    all.refused += tally.refused;
    all.harmless += tally.harmless;
    all.missed += tally.missed;
  }
  for (auto [code, count] : codes)
    llvm::outs() << llvm::formatv("{0,-36}{1,6}\n", code, count);
  llvm::outs() << llvm::formatv(
      "{0} ways, {1} mutants: {2} refused, {3} harmless, {4} missed; {5} of "
      "{6} correct partitions refused\n",
      tallies.size(), all.refused + all.harmless + all.missed + all.strict,
      all.refused + all.strict, all.harmless, all.missed, refusals,
      files.size());
  return all.missed + refusals > 0;
}
