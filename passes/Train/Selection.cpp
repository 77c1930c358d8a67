// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Selection.h"

#include "dialects/TP/Interface.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The result called `name`; none after an error that says what it is to be.
static std::optional<unsigned> findResult(func::FuncOp function, StringRef name,
                                          StringRef option) {
  SmallVector<StringRef> names;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    names.push_back(getOutputName(function, i).getValue());
    if (names.back() == name)
      return i;
  }
  function.emitError() << prefix(ErrorCode::BadLoss) << option << "=" << name
                       << ": @" << function.getName()
                       << " has no such result: write one of "
                       << llvm::join(names, ", ");
  return std::nullopt;
}

LogicalResult Selection::findResults(func::FuncOp function,
                                     const Recipe &recipe) {
  auto getScalar = [&](unsigned result) -> Type {
    auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[result]);
    return type && type.getRank() == 0 ? type.getElementType() : Type();
  };
  std::optional<unsigned> found = findResult(function, recipe.loss, "loss");
  if (!found)
    return failure();
  loss = *found;
  Type element = getScalar(loss);
  if (!element || !(element.isF32() || element.isF64()))
    return function.emitError()
           << prefix(ErrorCode::BadLoss) << "loss=" << recipe.loss << " is of "
           << "type " << function.getResultTypes()[loss]
           << ": a loss is a scalar of f32 or f64; take its mean or sum, and "
              "convert it";
  if (recipe.weight.empty())
    return success();
  weight = findResult(function, recipe.weight, "weight");
  if (!weight)
    return failure();
  element = getScalar(*weight);
  if (weight == loss || !element || !element.isIntOrFloat() ||
      element.isInteger(1))
    return function.emitError()
           << prefix(ErrorCode::BadLoss) << "weight=" << recipe.weight
           << " is of type " << function.getResultTypes()[*weight]
           << ": the weight of a micro-batch is a scalar number beside the "
              "loss, such as how many labels it is the mean of";
  return success();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Whether nothing says what an argument is for.
static bool isUndeclared(func::FuncOp function, unsigned argument) {
  return !function.getArgAttr(argument, kRoleAttr) &&
         !function.getArgAttr(argument, kSourceAttr) &&
         !function.getArgAttr(argument, kDonatedAttr);
}

static bool mayBeNamed(func::FuncOp function, unsigned argument) {
  return isUndeclared(function, argument) ||
         getRole(function, argument) == Role::Parameter;
}

static StringRef getName(func::FuncOp function, unsigned argument) {
  return getInputName(function, argument).getValue();
}

/// Each of `patterns` is about some of `arguments`.
static LogicalResult checkPatterns(func::FuncOp function,
                                   ArrayRef<NamePattern> patterns,
                                   ArrayRef<unsigned> arguments,
                                   StringRef option) {
  SmallVector<StringRef> names = llvm::map_to_vector(
      arguments, [&](unsigned i) { return getName(function, i); });
  for (const NamePattern &pattern : patterns) {
    if (llvm::any_of(names,
                     [&](StringRef name) { return pattern.matches(name); }))
      continue;
    InFlightDiagnostic error = function.emitError();
    error << prefix(ErrorCode::NotTrainable) << option << "="
          << pattern.getText() << " matches no "
          << (option == "train" ? "parameter" : "parameter that is trained");
    if (!names.empty())
      error.attachNote() << "near names are "
                         << getNearNames(pattern.getText(), names);
    return error;
  }
  return success();
}

/// An error that lists what could be meant.
static LogicalResult emitNoParameter(func::FuncOp function) {
  SmallVector<StringRef> names;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (isUndeclared(function, i) &&
        isFloatTensor(function.getArgument(i).getType()))
      names.push_back(getName(function, i));
  InFlightDiagnostic error = function.emitError();
  error << prefix(ErrorCode::NotTrainable) << "no argument of @"
        << function.getName()
        << " is a parameter of floats: write train= with the names of those "
           "that are, or give them tp.role = \"parameter\"";
  if (!names.empty())
    error.attachNote() << "arguments of floats without a role are "
                       << llvm::join(names, ", ");
  return error;
}

/// Whether an argument is of a type that can be trained, and is not yet.
static LogicalResult checkTrained(func::FuncOp function, unsigned argument) {
  auto error = [&] {
    return function.emitError() << prefix(ErrorCode::NotTrainable)
                                << "argument " << getName(function, argument);
  };
  auto type =
      dyn_cast<RankedTensorType>(function.getArgument(argument).getType());
  Type element = type ? type.getElementType() : Type();
  if (element && element.isF16())
    return success(); // An error of its own.
  if (!element || !(element.isF64() || element.isF32() || element.isBF16()))
    return error() << " is of type " << function.getArgument(argument).getType()
                   << ": parameters are trained in f64, f32 or bf16";
  if (function.getArgAttr(argument, kDonatedAttr))
    return error() << " is overwritten by a result already (tp.donated): give "
                      "the program without its update";
  return success();
}

LogicalResult Selection::findTrained(func::FuncOp function,
                                     const Recipe &recipe) {
  SmallVector<unsigned> candidates;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (mayBeNamed(function, i))
      candidates.push_back(i);
  if (failed(checkPatterns(function, recipe.train, candidates, "train")))
    return failure();
  for (unsigned i : candidates) {
    bool isNamed = llvm::any_of(recipe.train, [&](const NamePattern &pattern) {
      return pattern.matches(getName(function, i));
    });
    bool isMeant = recipe.train.empty() &&
                   getRole(function, i) == Role::Parameter &&
                   isFloatTensor(function.getArgument(i).getType());
    if (!isNamed && !isMeant)
      continue;
    if (failed(checkTrained(function, i)))
      return failure();
    trained.push_back(i);
  }
  if (trained.empty())
    return emitNoParameter(function);
  return success(
      succeeded(checkPatterns(function, recipe.decay, trained, "decay")) &&
      succeeded(checkPatterns(function, recipe.noDecay, trained, "no_decay")));
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Gradients of f16 vanish without a scale of the loss, which we do not have.
static LogicalResult refuseHalves(func::FuncOp function) {
  auto isHalf = [](Type type) { return getElementTypeOrSelf(type).isF16(); };
  auto refuse = [](Location loc) -> LogicalResult {
    return emitError(loc) << prefix(ErrorCode::HalfTraining)
                          << "f16 holds no gradients smaller than 6e-8: train "
                             "in bf16, with master=f32, or in f32";
  };
  if (llvm::any_of(function.getArgumentTypes(), isHalf))
    return refuse(function.getLoc());
  WalkResult walked = function.walk([&](Operation *op) {
    return llvm::any_of(op->getResultTypes(), isHalf)
               ? WalkResult(refuse(op->getLoc()))
               : WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

FailureOr<Selection> Selection::find(func::FuncOp function,
                                     const Recipe &recipe) {
  Selection selection;
  if (failed(selection.findResults(function, recipe)) ||
      failed(selection.findTrained(function, recipe)) ||
      failed(refuseHalves(function)))
    return failure();
  return selection;
}
