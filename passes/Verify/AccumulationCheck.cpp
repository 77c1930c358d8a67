// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AccumulationCheck.h"

#include "RandomData.h"
#include "ShrunkProgram.h"

#include "dialects/TP/Interface.h"
#include "lib/Interpreter/Interpreter.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <optional>

using namespace mlir;
using namespace tp;
using namespace tp::interp;

namespace {

/// The properties of a data set.
struct Kind {
  Signs signs;
  Magnitudes magnitudes;
  double ofStates = 1; ///< The factor that optimizer states are multiplied by.
};

/// A program that computes each of its results twice: result `i` and result
/// `getNumPairs() + i` should be equal.
class TwiceComputed {
public:
  /// `condition` is appended to errors: it says when the results differ.
  TwiceComputed(func::FuncOp function, StringRef condition)
      : function(function), condition(condition),
        numPairs(function.getNumResults() / 2) {}

  LogicalResult verify();

private:
  SmallVector<TensorValue> draw(DenseEvaluator &evaluator, unsigned number,
                                const Kind &kind);
  /// Compares the two results of each pair, and fails if they differ. Returns
  /// whether all updated parameters are numbers, not NaN.
  FailureOr<bool> verify(const Program &program, unsigned number,
                         const Kind &kind);

  func::FuncOp function;
  StringRef condition;
  unsigned numPairs;
};

} // namespace

/// Joins both programs into one function, one after the other, on the same
/// arguments.
static OwningOpRef<ModuleOp> join(func::FuncOp step, func::FuncOp whole) {
  OwningOpRef<ModuleOp> module(ModuleOp::create(step.getLoc()));
  func::FuncOp both = step.clone();
  module->push_back(both);
  Operation *end = both.front().getTerminator();
  OpBuilder builder(end);
  IRMapping mapping;
  mapping.map(whole.getArguments(), both.getArguments());
  for (Operation &op : whole.front().without_terminator())
    builder.clone(op, mapping);
  SmallVector<DictionaryAttr> attributes;
  both.getAllResultAttrs(attributes);
  attributes.append(attributes.size(), builder.getDictionaryAttr({}));
  for (Value value : whole.front().getTerminator()->getOperands())
    end->insertOperands(end->getNumOperands(), mapping.lookup(value));
  both.setFunctionType(FunctionType::get(
      builder.getContext(), both.getArgumentTypes(), end->getOperandTypes()));
  both.setAllResultAttrs(attributes);
  return module;
}

SmallVector<TensorValue> TwiceComputed::draw(DenseEvaluator &evaluator,
                                             unsigned number,
                                             const Kind &kind) {
  SmallVector<TensorValue> arguments =
      drawArguments(evaluator, function,
                    DataSet{/*seed=*/1, number, kind.signs, kind.magnitudes});
  // Without ignored labels, all micro-batches would count the same number of
  // labels.
  putComparedNumbers(function, arguments, number);
  makeStates(function, arguments, kind.ofStates);
  return arguments;
}

static std::string print(const DenseTensor &tensor, int64_t i) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(
      "%.8g", tensor.isFloat() ? tensor[i].real : double(tensor[i].integer));
  return text;
}

static bool isNumber(const DenseTensor &tensor) {
  return llvm::all_of(llvm::seq(tensor.size()),
                      [&](int64_t i) { return std::isfinite(tensor[i].real); });
}

/// Finds the first element whose difference is too large to come from a
/// different order of additions. Both programs compute the loss of each
/// micro-batch in the same way, so nothing else may differ.
static std::optional<int64_t> findDifference(const DenseTensor &made,
                                             const DenseTensor &wanted) {
  double largest = 0;
  for (int64_t i : llvm::seq(wanted.size()))
    if (wanted.isFloat() && std::isfinite(wanted[i].real))
      largest = std::max(largest, std::abs(wanted[i].real));
  auto isEqual = [&](Element a, Element b) {
    if (!wanted.isFloat())
      return a.integer == b.integer;
    if (!std::isfinite(a.real) || !std::isfinite(b.real))
      return std::isfinite(a.real) == std::isfinite(b.real);
    return std::abs(a.real - b.real) <= 1e-9 * largest + 1e-15;
  };
  for (int64_t i : llvm::seq(made.size()))
    if (!isEqual(made[i], wanted[i]))
      return i;
  return std::nullopt;
}

FailureOr<bool> TwiceComputed::verify(const Program &program, unsigned number,
                                      const Kind &kind) {
  DoubleEvaluator evaluator;
  auto results =
      Interpreter(evaluator).run(program, draw(evaluator, number, kind));
  if (failed(results))
    return failure();
  bool isKnown = true;
  for (unsigned result : llvm::seq(numPairs)) {
    const DenseTensor &made = toDense((*results)[result]),
                      &wanted = toDense((*results)[numPairs + result]);
    if (getResultRole(function, result) == Role::Parameter)
      isKnown = isKnown && isNumber(made);
    if (std::optional<int64_t> i = findDifference(made, wanted))
      return function.emitError()
             << prefix(ErrorCode::WrongAccumulation) << "output '"
             << getOutputName(function, result).getValue() << "' differs"
             << condition << ": element "
             << printIndex(*i, made.getType().getShape()) << " is "
             << print(made, *i)
             << " when the step runs over micro-batches, but "
             << print(wanted, *i) << " when it runs over all of them at once";
  }
  return isKnown;
}

LogicalResult TwiceComputed::verify() {
  FailureOr<Program> program = Program::analyze(function);
  if (failed(program) || failed(checkArguments(*program, {})))
    return failure();
  // States vary in scale, since some optimizers use only the sign of state plus
  // gradient, which the larger of the two alone determines.
  static constexpr Kind kinds[] = {
      {Signs::Any, Magnitudes::Small, /*ofStates=*/0x1p-20},
      {Signs::Any, Magnitudes::Small},
      {Signs::Positive, Magnitudes::Small, /*ofStates=*/0x1p-4},
      {Signs::PerArgument, Magnitudes::Moderate, /*ofStates=*/0x1p-8},
      {Signs::Any, Magnitudes::Large, /*ofStates=*/0x1p-4},
      {Signs::Any, Magnitudes::Tiny, /*ofStates=*/0x1p-12}};
  // A data set may be inconclusive: the mean of a micro-batch is NaN if all its
  // labels are ignored, and large numbers may overflow. So further data sets
  // are tried.
  constexpr unsigned kNumKinds = std::size(kinds), kNumTries = 3 * kNumKinds,
                     kEnough = 3;
  unsigned known = 0;
  for (unsigned number = 0;
       number < kNumKinds || (known < kEnough && number < kNumTries);
       ++number) {
    FailureOr<bool> isKnown =
        verify(*program, number, kinds[number % kNumKinds]);
    if (failed(isKnown))
      return failure();
    known += *isKnown;
  }
  if (known == 0)
    return function.emitError()
           << prefix(ErrorCode::WrongAccumulation)
           << "all parameters are NaN after a step on the data that was tried, "
              "so nothing could be verified";
  return success();
}

/// Checks the program with small sizes. A failure does not yet prove an error,
/// since the small program may differ from the large one.
static LogicalResult checkShrunk(func::FuncOp both, StringRef condition) {
  SmallVector<std::pair<unsigned, unsigned>> donated, equal;
  unsigned numPairs = both.getNumResults() / 2;
  for (unsigned i : llvm::seq(both.getNumArguments()))
    if (auto result = both.getArgAttrOfType<IntegerAttr>(i, kDonatedAttr))
      donated.emplace_back(i, result.getInt());
  for (unsigned i : llvm::seq(numPairs))
    equal.emplace_back(i, numPairs + i);
  OwningOpRef<ModuleOp> shrunk = shrinkProgram(both, donated, equal);
  ScopedDiagnosticHandler quiet(both.getContext(),
                                [](Diagnostic &) { return success(); });
  return TwiceComputed(*shrunk->getOps<func::FuncOp>().begin(), condition)
      .verify();
}

static LogicalResult check(func::FuncOp both, StringRef condition) {
  if (succeeded(checkShrunk(both, condition)))
    return success();
  return TwiceComputed(both, condition).verify();
}

/// Replaces each tp.sign by its operand. Returns false if there is no tp.sign.
static bool leaveOutSigns(func::FuncOp function) {
  SmallVector<SignOp> signs;
  function.walk([&](SignOp sign) { signs.push_back(sign); });
  for (SignOp sign : signs) {
    sign.getResult().replaceAllUsesWith(sign->getOperand(0));
    sign.erase();
  }
  return !signs.empty();
}

LogicalResult tp::checkAccumulation(func::FuncOp step, func::FuncOp whole) {
  OwningOpRef<ModuleOp> module = join(step, whole);
  func::FuncOp both = *module->getOps<func::FuncOp>().begin();
  if (failed(check(both, /*condition=*/"")))
    return failure();
  // A wrong sum usually has the right sign, so random data rarely shows the
  // error after a tp.sign. Without the sign, the sum itself is compared.
  return success(
      !leaveOutSigns(both) ||
      succeeded(check(both, " when each tp.sign is replaced by its operand")));
}
