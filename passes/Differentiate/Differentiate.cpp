// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Adds the gradients of a loss to the results of a function.

#include "dialects/TP/Interface.h"
#include "dialects/TP/ReverseMode.h"
#include "tpopt/Passes/Differentiate/Passes.h"
#include "tpopt/Support/ErrorCodes.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

namespace tp {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "tpopt/Passes/Differentiate/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {

struct Differentiate : tp::impl::DifferentiatePassBase<Differentiate> {
  using DifferentiatePassBase::DifferentiatePassBase;

  void runOnOperation() override {
    func::FuncOp function = findEntry();
    if (!function)
      return signalPassFailure();
    FailureOr<unsigned> loss = findLoss(function);
    if (failed(loss))
      return signalPassFailure();
    FailureOr<SmallVector<unsigned>> trained = findTrained(function);
    if (failed(trained))
      return signalPassFailure();
    SmallVector<Value> wanted;
    for (unsigned argument : *trained)
      wanted.push_back(function.getArgument(argument));
    Operation *end = function.getFunctionBody().front().getTerminator();
    FailureOr<SmallVector<Value>> gradients =
        buildGradients(function, end->getOperand(*loss), wanted);
    if (failed(gradients))
      return signalPassFailure();
    for (auto [argument, gradient] : llvm::zip_equal(*trained, *gradients))
      addGradientResult(function, argument, gradient);
  }

private:
  func::FuncOp findEntry();
  FailureOr<unsigned> findLoss(func::FuncOp function);
  FailureOr<SmallVector<unsigned>> findTrained(func::FuncOp function);
};

} // namespace

func::FuncOp Differentiate::findEntry() {
  SmallVector<func::FuncOp> entries;
  SmallVector<StringRef> names;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (!isEntry(function) || (!entry.empty() && function.getName() != entry))
      continue;
    entries.push_back(function);
    names.push_back(function.getName());
  }
  if (entries.size() == 1)
    return entries.front();
  InFlightDiagnostic diagnostic = getOperation().emitError()
                                  << prefix(ErrorCode::UnknownEntry);
  if (!entry.empty())
    diagnostic << "there is no function '" << entry
               << "' that can be called from outside";
  else if (entries.empty())
    diagnostic << "there is no function that can be called from outside";
  else
    diagnostic << "there are several functions, " << llvm::join(names, ", ")
               << ": write entry=NAME";
  return {};
}

FailureOr<unsigned> Differentiate::findLoss(func::FuncOp function) {
  SmallVector<std::string> names;
  for (unsigned i : llvm::seq(function.getNumResults())) {
    StringRef name = getOutputName(function, i);
    names.push_back(name.str());
    if (name != loss)
      continue;
    auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[i]);
    if (type && type.getRank() == 0 && type.getElementType().isF32())
      return i;
    if (type && type.getRank() == 0 && type.getElementType().isF64())
      return i;
    return function.emitError()
           << prefix(ErrorCode::BadLoss) << "the loss '" << loss
           << "' is a scalar of f32 or f64, not "
           << function.getResultTypes()[i] << ": return its sum or its mean";
  }
  return function.emitError()
         << prefix(ErrorCode::BadLoss) << "'" << function.getName()
         << "' has no result '" << loss << "', it has "
         << llvm::join(names, ", ") << ": write loss=NAME";
}

FailureOr<SmallVector<unsigned>>
Differentiate::findTrained(func::FuncOp function) {
  SmallVector<unsigned> found;
  SmallVector<std::string> floats;
  auto isFloat = [&](unsigned i) {
    return isFloatTensor(function.getArgumentTypes()[i]);
  };
  for (unsigned i : llvm::seq(function.getNumArguments())) {
    if (isFloat(i))
      floats.push_back(getInputName(function, i).str());
    if (train.empty() && isFloat(i) && getRole(function, i) == Role::Parameter)
      found.push_back(i);
  }
  std::string known = llvm::join(floats, ", ");
  if (train.empty() && found.empty())
    return function.emitError()
           << prefix(ErrorCode::NotTrainable)
           << "no argument has the role parameter: write train= with patterns "
              "of names, of "
           << known;
  llvm::SmallSetVector<unsigned, 8> chosen;
  for (const std::string &text : train) {
    llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(text);
    if (!pattern)
      return function.emitError()
             << prefix(ErrorCode::NotTrainable) << "'" << text
             << "' is no pattern: " << llvm::toString(pattern.takeError());
    bool matched = false;
    for (unsigned i : llvm::seq(function.getNumArguments())) {
      if (!isFloat(i) || !pattern->match(getInputName(function, i)))
        continue;
      chosen.insert(i);
      matched = true;
    }
    if (!matched)
      return function.emitError()
             << prefix(ErrorCode::NotTrainable) << "'" << text
             << "' matches no argument of floats: they are " << known;
  }
  if (!train.empty()) {
    found.assign(chosen.begin(), chosen.end());
    llvm::sort(found);
  }
  return found;
}
