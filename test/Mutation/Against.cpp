// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Against.h"

#include "Mutations.h"

#include "dialects/TP/Interface.h"
#include "lib/Import/ReadProgram.h"
#include "passes/Verify/Comparison.h"
#include "tpopt/Passes/Pipelines/Pipelines.h"
#include "tpopt/Passes/Verify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace tp;
using namespace tp::interp;

namespace {

class LocalMutator {
public:
  LocalMutator(const std::string &file, const AgainstOptions &options,
               MLIRContext &context)
      : file(file), options(options), context(context), random(options.seed) {}

  bool prepare();
  void mutate(llvm::MapVector<StringRef, Tally> &tallies);

private:
  enum class Outcome { Refused, Harmless, Missed, Strict };
  std::optional<Outcome> tryOne(const Mutation &mutation, std::string &place);
  bool isAccepted(ModuleOp module, std::string &message);
  bool isWrong(ModuleOp module);
  bool isWrong(func::FuncOp local, func::FuncOp function);

  const std::string &file;
  const AgainstOptions &options;
  MLIRContext &context;
  Random random;
  OwningOpRef<ModuleOp> whole, local;
};

} // namespace

bool LocalMutator::isAccepted(ModuleOp module, std::string &message) {
  QuietRun quiet(&context);
  bool accepted = quiet.run(module, [&](OpPassManager &manager) {
    VerifyAgainstPassOptions against;
    against.whole = file;
    against.field = options.field;
    manager.addPass(createVerifyAgainstPass(against));
  });
  message = quiet.message;
  return accepted;
}

bool LocalMutator::prepare() {
  auto fail = [&](StringRef what, StringRef message) {
    llvm::outs() << "REFUSED: " << file << ": " << what << ": " << message
                 << "\n";
    return false;
  };
  whole = readProgram(file, &context);
  if (!whole)
    return false;
  local = whole->clone();
  QuietRun quiet(&context);
  auto shard = [&](ModuleOp module, std::optional<Stage> last) {
    return quiet.run(module, [&](OpPassManager &manager) {
      ShardOptions shardOptions;
      shardOptions.mesh = options.mesh;
      if (last)
        shardOptions.stopAfter = *last;
      buildShardPipeline(manager, shardOptions);
    });
  };
  if (!shard(*whole, Stage::Import) || !shard(*local, std::nullopt))
    return fail("tp-shard", quiet.message);
  std::string message;
  if (!isAccepted(*local, message))
    return fail("tp-verify-against", message);
  return !isWrong(*local) || fail("the data sets", "its results differ");
}

/// Whether a local program gives other numbers on one of 20 data sets.
bool LocalMutator::isWrong(func::FuncOp function, func::FuncOp reference) {
  FailureOr<Program> a = Program::analyze(function),
                     b = Program::analyze(reference);
  if (failed(a) || failed(b))
    return true;
  SmallVector<unsigned> matches =
      llvm::to_vector(llvm::seq<unsigned>(0, function.getNumArguments()));
  ProgramPair programs{*a, *b, matches};
  IndexCoverage coverage(reference);
  constexpr unsigned kNumDataSets = 20;
  for (unsigned number = 0; number < kNumDataSets; ++number) {
    DataSet data = getDataSet(options.seed + 1000, number);
    FloatComparison comparison(programs, data, /*unit=*/1e-9);
    if (failed(comparison.runWhole(coverage)))
      return false; // then there is nothing to say
    Verdict difference = comparison.compare();
    if (failed(difference) || *difference)
      return true;
  }
  return false;
}

bool LocalMutator::isWrong(ModuleOp module) {
  QuietRun quiet(&context);
  for (auto function : whole->getOps<func::FuncOp>())
    if (isEntry(function) &&
        isWrong(module.lookupSymbol<func::FuncOp>(function.getName()),
                function))
      return true;
  return false;
}

std::optional<LocalMutator::Outcome>
LocalMutator::tryOne(const Mutation &mutation, std::string &place) {
  OwningOpRef<ModuleOp> module = local->clone();
  SmallVector<Operation *> ops;
  for (auto function : module->getOps<func::FuncOp>())
    function.walk([&](Operation *op) {
      if (op != function)
        ops.push_back(op);
    });
  // At any op that this can be done to.
  for (unsigned tries = 0; tries < 32 && !ops.empty(); ++tries) {
    Operation *op = ops[random.below(ops.size())];
    place.clear();
    llvm::raw_string_ostream(place) << *op;
    if (!mutation.apply(op, random))
      continue;
    QuietRun quiet(&context);
    if (failed(verify(*module)))
      return std::nullopt;
    std::string message;
    bool accepted = isAccepted(*module, message), wrong = isWrong(*module);
    if (wrong)
      return accepted ? Outcome::Missed : Outcome::Refused;
    place += ": " + message;
    return accepted ? Outcome::Harmless : Outcome::Strict;
  }
  return std::nullopt;
}

void LocalMutator::mutate(llvm::MapVector<StringRef, Tally> &tallies) {
  SmallVector<Mutation> mutations(getDataMutations());
  llvm::append_range(mutations, getLocalMutations());
  unsigned done = 0, attempts = 0;
  while (done < options.mutants && attempts++ < options.mutants * 20) {
    const Mutation &mutation = mutations[random.below(mutations.size())];
    std::string place;
    std::optional<Outcome> outcome = tryOne(mutation, place);
    if (!outcome)
      continue;
    ++done;
    Tally &tally = tallies[mutation.name];
    switch (*outcome) {
    case Outcome::Refused:
      ++tally.refused;
      break;
    case Outcome::Harmless:
      ++tally.harmless;
      break;
    case Outcome::Missed:
      ++tally.missed;
      break;
    case Outcome::Strict:
      ++tally.strict;
      break;
    }
    if (*outcome == Outcome::Missed || *outcome == Outcome::Strict)
      llvm::outs() << (*outcome == Outcome::Missed ? "MISSED: " : "STRICT: ")
                   << file << ": " << mutation.name << " at " << place << "\n";
  }
}

bool tp::mutateAgainst(const std::string &file, const AgainstOptions &options,
                       MLIRContext &context,
                       llvm::MapVector<StringRef, Tally> &tallies) {
  LocalMutator mutator(file, options, context);
  if (!mutator.prepare())
    return false;
  mutator.mutate(tallies);
  return true;
}
