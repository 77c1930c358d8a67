// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-verify-against: run two programs on the same data and compare.

#include "Comparison.h"
#include "JoinParts.h"

#include "dialects/TP/Interface.h"
#include "lib/Import/ReadProgram.h"
#include "lib/Interpreter/FieldEvaluator.h"
#include "passes/Import/StableHLO/StableHLO.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Verify/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYAGAINSTPASS
#include "tpopt/Passes/Verify/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::interp;

/// For every argument of `local`, the matching argument of `whole`: the one
/// with the same `tp.name`, or at the same position if one of the two has no
/// name.
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
           << " arguments, but in the whole program it takes "
           << whole.getNumArguments();
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
      return error(index) << "its global type is " << type
                          << ", but its type in the whole program is "
                          << whole.getArgumentTypes()[match];
    matches.push_back(match);
  }
  return matches;
}

static LogicalResult matchResults(func::FuncOp local, func::FuncOp whole) {
  if (local.getNumResults() != whole.getNumResults())
    return emitError(local.getLoc())
           << prefix(ErrorCode::InterfaceMismatch) << "function '"
           << local.getName() << "' returns " << local.getNumResults()
           << " results, but in the whole program it returns "
           << whole.getNumResults();
  for (unsigned index = 0; index < local.getNumResults(); ++index) {
    Type type = Program::getWholeType(local.getResultTypes()[index]);
    if (type != Program::getWholeType(whole.getResultTypes()[index]))
      return emitError(local.getLoc())
             << prefix(ErrorCode::InterfaceMismatch) << "function '"
             << local.getName() << "', result #" << index
             << ": its global type is " << type
             << ", but its type in the whole program is "
             << whole.getResultTypes()[index];
  }
  return success();
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
  LogicalResult verifyPrograms(const ProgramPair &programs);
  LogicalResult verifyInField(const ProgramPair &programs, const DataSet &data);
  bool isEqualByExp(const ProgramPair &programs, const DataSet &data);
  LogicalResult report(const ProgramPair &programs, const DataSet &data,
                       const Difference &difference);
};
} // namespace

LogicalResult VerifyAgainst::verifyModule() {
  ModuleOp module = getOperation();
  // Do not change the input.
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
    return emitError(module.getLoc()) << prefix(ErrorCode::UnreadableProgram)
                                      << "cannot read the whole program from \""
                                      << whole << "\": write whole=FILE";
  if (hasStableHLO(*other) && failed(importStableHLO(*other)))
    return failure();

  for (auto function : other->getOps<func::FuncOp>())
    if (isEntry(function) &&
        !module.lookupSymbol<func::FuncOp>(function.getName()))
      return emitError(module.getLoc())
             << prefix(ErrorCode::InterfaceMismatch) << "function '"
             << function.getName()
             << "' of the whole program is missing from this program";
  LogicalResult result = success();
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!isEntry(function))
      continue;
    auto match = other->lookupSymbol<func::FuncOp>(function.getName());
    if (!match)
      return emitError(function.getLoc())
             << prefix(ErrorCode::InterfaceMismatch) << "function '"
             << function.getName() << "' is not in the whole program";
    joinParts(match, function);
    // Go on: the other functions may have errors as well.
    if (failed(verifyEither(function, match)))
      result = failure();
  }
  return result;
}

/// The module as partitioning receives it; null if the pipeline that prepares
/// it is not registered.
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

/// Before a program is partitioned, it is prepared: groups of ops are replaced
/// by larger ops. The prepared program may round differently, and computes
/// other results in a prime field. So if `local` differs from `whole` as
/// written, `local` is also compared with the prepared `whole`.
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
    if (failed(result) && !prepared && !said.empty())
      said.front().attachNote()
          << "the program was compared only with the whole program as it is "
             "written: to compare it also with the whole program as tp-shard "
             "prepares it, register that pipeline (registerTPOptPipelines)";
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
           << "expects the whole program, but this program has local types";
  FailureOr<SmallVector<unsigned>> matches = matchArguments(local, whole);
  if (failed(matches) || failed(matchResults(local, whole)))
    return failure();
  return verifyPrograms({*localProgram, *wholeProgram, *matches});
}

LogicalResult VerifyAgainst::verifyPrograms(const ProgramPair &programs) {
  func::FuncOp function = programs.local.getFunction();
  if (failed(checkArguments(programs.whole, InterpreterOptions())))
    return failure();
  IndexCoverage coverage(programs.whole.getFunction());
  // Small programs are run on more data sets, which hardly costs anything.
  // Further data sets are tried while indices have not reached all cases.
  constexpr unsigned kSmallSets = 128, kMoreSets = 24, kFieldSets = 2;
  // Integers, unlike floats, may miss an error by chance.
  bool hasIntegers =
      !coverage.isEmpty() ||
      llvm::any_of(programs.whole.getFunction().getArgumentTypes(),
                   isIntegerTensor);
  int64_t smallWork = hasIntegers ? 1 << 20 : 1 << 17, work = 0,
          devices = programs.local.getNumDevices();
  unsigned wanted = trials;
  llvm::SmallBitVector hasNumber(function.getNumResults());
  unsigned number = 0;
  for (; number < wanted ||
         (number < trials + kMoreSets && !coverage.isComplete());
       ++number) {
    DataSet data = getDataSet(seed, number);
    FloatComparison comparison(programs, data, tolerance);
    if (failed(comparison.runWhole(coverage)))
      return failure();
    work += comparison.getWork() * (1 + devices);
    if (work < smallWork && number + 1 < kSmallSets)
      wanted = std::max(wanted, number + 2);
    bool hasNews = coverage.takeNews();
    if (!hasNews && number >= wanted)
      continue;
    bool isForField = number < kFieldSets || (hasNews && number >= trials);
    if (field && isForField && failed(verifyInField(programs, data)))
      return failure();
    Verdict difference = comparison.compare();
    if (failed(difference))
      return failure();
    if (*difference) {
      (void)report(programs, data, **difference);
      comparison.explain((*difference)->result);
      return failure();
    }
    for (unsigned index = 0; index < hasNumber.size(); ++index)
      if (comparison.hasNumber(index))
        hasNumber.set(index);
  }
  coverage.warn(number);
  for (unsigned index : hasNumber.flip().set_bits())
    emitWarning(function.getLoc())
        << "function '" << function.getName() << "', result #" << index
        << ": all its elements are NaN or infinite on the data that was tried, "
           "so this result is not verified";
  return success();
}

/// Emits an error that describes `difference`; always returns failure.
LogicalResult VerifyAgainst::report(const ProgramPair &programs,
                                    const DataSet &data,
                                    const Difference &difference) {
  func::FuncOp function = programs.local.getFunction();
  unsigned index = difference.result;
  InFlightDiagnostic diag = emitError(function.getLoc())
                            << prefix(ErrorCode::ProgramsDiffer) << "function '"
                            << function.getName() << "', result #" << index;
  if (auto name = function.getResultAttrOfType<StringAttr>(index, kNameAttr))
    diag << " (" << name << ")";
  diag << ": " << difference.text;
  diag.attachNote(programs.whole.getFunction().getLoc())
      << "this is the whole program; seed " << uint64_t(seed) << ", trial "
      << data.number;
  return diag;
}

LogicalResult VerifyAgainst::verifyInField(const ProgramPair &programs,
                                           const DataSet &data) {
  FieldEvaluator residues(seed);
  Verdict difference = compareExactly(residues, programs, data);
  if (failed(difference))
    return failure();
  if (!*difference || isEqualByExp(programs, data))
    return success();
  (void)report(programs, data, **difference);
  tp::explain(residues, programs, data, (*difference)->result,
              /*tolerance=*/0);
  return failure();
}

/// Returns true if the programs are equal by the rules of field arithmetic and
/// of exp. Tests this with several random keys: a wrong program of degree d
/// passes the test of one key with a probability of about d / 2^32.
bool VerifyAgainst::isEqualByExp(const ProgramPair &programs,
                                 const DataSet &data) {
  constexpr unsigned kNumKeys = 3;
  ScopedDiagnosticHandler silence(&getContext(),
                                  [](Diagnostic &) { return success(); });
  for (unsigned number = 0; number < kNumKeys; ++number) {
    PairEvaluator pairs(seed + number);
    Verdict difference = compareExactly(pairs, programs, data);
    if (failed(difference) || *difference)
      return false;
  }
  return true;
}
