// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-verify-against: run two programs on the same data and compare.

#include "Divergence.h"
#include "Parting.h"
#include "RandomData.h"

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Import/StableHLO.h"
#include "tpopt/Interpreter/FieldEvaluator.h"
#include "tpopt/Passes/Verify/Passes.h"
#include "tpopt/Program/Interface.h"
#include "tpopt/Program/ReadProgram.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYAGAINSTPASS
#include "tpopt/Passes/Verify/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// For every argument of `local` the one of `whole` that it is: of the same
/// `tp.name`, or at the same position if either has no name there.
static FailureOr<SmallVector<unsigned>> matchArguments(func::FuncOp local,
                                                       func::FuncOp whole) {
  auto error = [&](unsigned index) {
    return emitError(local.getLoc())
           << prefix(ErrorCode::InterfaceMismatch) << "function '"
           << local.getName() << "', argument #" << index << ": ";
  };
  auto nameOf = [](func::FuncOp function, unsigned index) {
    return function.getArgAttrOfType<StringAttr>(index, kNameAttr);
  };
  if (local.getNumArguments() != whole.getNumArguments())
    return emitError(local.getLoc())
           << prefix(ErrorCode::InterfaceMismatch) << "function '"
           << local.getName() << "' takes " << local.getNumArguments()
           << " arguments, in the whole program " << whole.getNumArguments();
  SmallVector<unsigned> matches;
  for (unsigned index = 0; index < local.getNumArguments(); ++index) {
    StringAttr name = nameOf(local, index);
    unsigned match = index;
    if (name && nameOf(whole, index)) {
      match = 0;
      while (match < whole.getNumArguments() && nameOf(whole, match) != name)
        ++match;
      if (match == whole.getNumArguments())
        return error(index)
               << "the whole program has no argument called " << name;
    }
    Type type = Program::getWholeType(local.getArgumentTypes()[index]);
    if (type != Program::getWholeType(whole.getArgumentTypes()[match]))
      return error(index) << "it is (a part of) " << type
                          << ", in the whole program "
                          << whole.getArgumentTypes()[match];
    matches.push_back(match);
  }
  return matches;
}

static LogicalResult matchResults(func::FuncOp local, func::FuncOp whole) {
  if (local.getNumResults() != whole.getNumResults())
    return emitError(local.getLoc())
           << prefix(ErrorCode::InterfaceMismatch) << "function '"
           << local.getName() << "' gives " << local.getNumResults()
           << " results, in the whole program " << whole.getNumResults();
  for (unsigned index = 0; index < local.getNumResults(); ++index) {
    Type type = Program::getWholeType(local.getResultTypes()[index]);
    if (type != Program::getWholeType(whole.getResultTypes()[index]))
      return emitError(local.getLoc())
             << prefix(ErrorCode::InterfaceMismatch) << "function '"
             << local.getName() << "', result #" << index
             << ": it is (a part of) " << type << ", in the whole program "
             << whole.getResultTypes()[index];
  }
  return success();
}

/// Whether no element is a number: such a result equals every other such one.
static bool isNaN(DenseEvaluator &evaluator, const TensorValue &value) {
  const DenseTensor &tensor = toDense(value);
  if (!tensor.isFloat() || tensor.size() == 0)
    return false;
  for (int64_t i = 0; i < tensor.size(); ++i)
    if (!evaluator.isNaN(tensor[i]))
      return false;
  return true;
}

namespace {
struct VerifyAgainst : tp::impl::VerifyAgainstPassBase<VerifyAgainst> {
  using VerifyAgainstPassBase::VerifyAgainstPassBase;

  void runOnOperation() override {
    if (failed(verifyModule()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult verifyModule();
  LogicalResult verifyEither(func::FuncOp local, func::FuncOp whole);
  LogicalResult verifyFunction(func::FuncOp local, func::FuncOp whole);
  LogicalResult verifyTrial(const Program &local, const Program &whole,
                            ArrayRef<unsigned> matches, unsigned number);
  LogicalResult verifyByExp(const Program &local, const Program &whole,
                            ArrayRef<unsigned> matches);
};

/// Two programs and what they are run on.
struct Trial {
  Trial(DenseEvaluator &evaluator, const Program &local, const Program &whole,
        ArrayRef<unsigned> matches, uint64_t seed, unsigned number)
      : evaluator(evaluator), local(local), whole(whole), matches(matches),
        seed(seed), number(number),
        wholeArguments(
            drawArguments(evaluator, whole.getFunction(), seed, number)) {
    for (unsigned match : matches)
      localArguments.push_back(wholeArguments[match]);
  }

  struct Difference {
    unsigned result;
    std::string text;
  };
  /// The first difference, if there is one. Fails with an error where a program
  /// cannot run. The tolerance is asked for when both have run.
  FailureOr<std::optional<Difference>>
  compare(InterpreterOptions &options, function_ref<double()> getTolerance);
  /// Why result `index` is wrong, in remarks.
  void explain(unsigned index, InterpreterOptions &options) {
    if (!explainParting(local, whole, matches, index, seed, number))
      explainDifference(evaluator, options, local, localArguments, whole,
                        wholeArguments);
  }

  DenseEvaluator &evaluator;
  const Program &local, &whole;
  ArrayRef<unsigned> matches;
  uint64_t seed;
  unsigned number;
  SmallVector<TensorValue> wholeArguments, localArguments;
  SmallVector<unsigned> unchecked; ///< Results without a number.
};
} // namespace

FailureOr<std::optional<Trial::Difference>>
Trial::compare(InterpreterOptions &options,
               function_ref<double()> getTolerance) {
  auto expected = Interpreter(evaluator, options).run(whole, wholeArguments);
  if (failed(expected))
    return failure();
  auto results = Interpreter(evaluator, options).run(local, localArguments);
  if (failed(results)) {
    explain(0, options);
    return failure();
  }
  options.tolerance = getTolerance();
  for (auto [index, result] : llvm::enumerate(*results)) {
    const TensorValue &wanted = (*expected)[index];
    if (isNaN(evaluator, wanted))
      unchecked.push_back(index);
    if (std::optional<std::string> text =
            findDifference(evaluator, result, wanted, options.tolerance))
      return std::optional(Difference{unsigned(index), std::move(*text)});
  }
  return std::optional<Difference>();
}

LogicalResult VerifyAgainst::verifyModule() {
  ModuleOp module = getOperation();
  // What is given stays as it is.
  OwningOpRef<ModuleOp> imported;
  if (hasStableHLO(module)) {
    imported = module.clone();
    module = *imported;
    if (failed(importStableHLO(module)))
      return failure();
  }
  OwningOpRef<ModuleOp> other;
  if (!whole.empty())
    other = readProgram(whole, &getContext());
  if (!other)
    return emitError(module.getLoc())
           << prefix(ErrorCode::UnreadableProgram) << "no whole program in \""
           << whole << "\": write whole=FILE";
  if (hasStableHLO(*other) && failed(importStableHLO(*other)))
    return failure();

  for (auto function : other->getOps<func::FuncOp>())
    if (isEntry(function) &&
        !module.lookupSymbol<func::FuncOp>(function.getName()))
      return emitError(module.getLoc())
             << prefix(ErrorCode::InterfaceMismatch) << "function '"
             << function.getName() << "' of the whole program is missing";
  LogicalResult result = success();
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!isEntry(function))
      continue;
    auto match = other->lookupSymbol<func::FuncOp>(function.getName());
    if (!match)
      return emitError(function.getLoc())
             << prefix(ErrorCode::InterfaceMismatch) << "function '"
             << function.getName() << "' is not in the whole program";
    // The others may still have something to tell.
    if (failed(verifyEither(function, match)))
      result = failure();
  }
  return result;
}

/// The module as partitioning gets it; null where the pipeline that does that
/// is not registered.
static OwningOpRef<ModuleOp> prepare(ModuleOp module) {
  const PassPipelineInfo *pipeline = PassPipelineInfo::lookup("tp-shard");
  if (!pipeline)
    return nullptr;
  PassManager manager(module.getContext());
  OwningOpRef<ModuleOp> prepared = module.clone();
  if (failed(pipeline->addToPipeline(
          manager, "stop-after=import",
          [&](const Twine &message) { return module.emitError(message); })) ||
      failed(manager.run(*prepared)))
    return nullptr;
  return prepared;
}

/// Partitioning raises a program first, which a prime field takes for another
/// one, and rounding, too: if `whole` as it is written differs, it may be that
/// as it is prepared.
LogicalResult VerifyAgainst::verifyEither(func::FuncOp local,
                                          func::FuncOp whole) {
  std::vector<Diagnostic> said;
  auto verify = [&](func::FuncOp whole) {
    ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diagnostic) {
      said.push_back(std::move(diagnostic));
      return success();
    });
    return verifyFunction(local, whole);
  };
  LogicalResult result = verify(whole);
  if (failed(result)) {
    std::vector<Diagnostic> first = std::move(said);
    said.clear();
    OwningOpRef<ModuleOp> prepared =
        prepare(whole->getParentOfType<ModuleOp>());
    auto match = prepared
                     ? prepared->lookupSymbol<func::FuncOp>(whole.getName())
                     : func::FuncOp();
    if (match && succeeded(verify(match)))
      result = success();
    else
      said = std::move(first);
  }
  for (Diagnostic &diagnostic : said)
    getContext().getDiagEngine().emit(std::move(diagnostic));
  return result;
}

LogicalResult VerifyAgainst::verifyFunction(func::FuncOp local,
                                            func::FuncOp whole) {
  FailureOr<Program> localProgram = Program::analyze(local);
  FailureOr<Program> wholeProgram = Program::analyze(whole);
  if (failed(localProgram) || failed(wholeProgram))
    return failure();
  if (wholeProgram->isLocal())
    return emitError(whole.getLoc())
           << prefix(ErrorCode::InterfaceMismatch)
           << "this should be the whole program, but its types are local";
  FailureOr<SmallVector<unsigned>> matches = matchArguments(local, whole);
  if (failed(matches) || failed(matchResults(local, whole)))
    return failure();
  for (unsigned trial = 0; trial < trials; ++trial)
    if (failed(verifyTrial(*localProgram, *wholeProgram, *matches, trial)))
      return failure();
  return success();
}

LogicalResult VerifyAgainst::verifyTrial(const Program &local,
                                         const Program &whole,
                                         ArrayRef<unsigned> matches,
                                         unsigned number) {
  func::FuncOp function = local.getFunction();
  InterpreterOptions options;
  if (failed(checkArguments(whole, options)))
    return failure();
  DoubleEvaluator doubles;
  FieldEvaluator residues(seed);
  Trial trial(field ? static_cast<DenseEvaluator &>(residues)
                    : static_cast<DenseEvaluator &>(doubles),
              local, whole, matches, seed, number);
  auto difference = trial.compare(options, [&] {
    return field || doubles.isExact() ? 0 : double(tolerance);
  });
  if (failed(difference))
    return failure();
  for (unsigned index : trial.unchecked)
    emitWarning(function.getLoc())
        << "function '" << function.getName() << "', result #" << index
        << ": no number on this data, so nothing is checked";
  if (!*difference || (field && succeeded(verifyByExp(local, whole, matches))))
    return success();

  unsigned index = (*difference)->result;
  InFlightDiagnostic diag = emitError(function.getLoc())
                            << prefix(ErrorCode::ProgramsDiffer) << "function '"
                            << function.getName() << "', result #" << index;
  if (auto name = function.getResultAttrOfType<StringAttr>(index, kNameAttr))
    diag << " (" << name << ")";
  diag << ": " << (*difference)->text;
  diag.attachNote(whole.getFunction().getLoc())
      << "the whole program; seed " << uint64_t(seed) << ", trial " << number;
  diag.report();
  trial.explain(index, options);
  return failure();
}

/// Whether the programs are equal by the rules of fields and of exp. A wrong
/// one passes a key with a probability of about 1 in 2^32 per degree.
LogicalResult VerifyAgainst::verifyByExp(const Program &local,
                                         const Program &whole,
                                         ArrayRef<unsigned> matches) {
  constexpr unsigned numKeys = 3;
  ScopedDiagnosticHandler silence(&getContext(),
                                  [](Diagnostic &) { return success(); });
  for (unsigned number = 0; number < numKeys; ++number) {
    PairEvaluator pairs(seed + number);
    InterpreterOptions options;
    auto difference =
        Trial(pairs, local, whole, matches, seed, number).compare(options, [] {
          return 0;
        });
    if (failed(difference) || *difference)
      return failure();
  }
  return success();
}
