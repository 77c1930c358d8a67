// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Selection.h"

#include "dialects/TP/Interface.h"
#include "passes/Differentiate/Selection.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult Selection::findResults(func::FuncOp function,
                                     const Recipe &recipe) {
  FailureOr<unsigned> found = findLoss(function, recipe.loss);
  if (failed(found))
    return failure();
  loss = *found;
  if (recipe.weight.empty())
    return success();
  found = findResult(function, recipe.weight, "weight");
  if (failed(found))
    return failure();
  weight = *found;
  auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[*weight]);
  if (weight == loss || !type || type.getRank() != 0 ||
      !type.getElementType().isIntOrFloat() ||
      type.getElementType().isInteger(1))
    return function.emitError()
           << prefix(ErrorCode::BadLoss) << "weight=" << recipe.weight
           << " is of type " << function.getResultTypes()[*weight]
           << ": the weight of a micro-batch must be a scalar and must "
              "not be the loss itself; for example, the number of labels that "
              "the loss is averaged over";
  return success();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static bool mayBeNamed(func::FuncOp function, unsigned argument) {
  return isUndeclared(function, argument) ||
         getRole(function, argument) == Role::Parameter;
}

static StringRef getName(func::FuncOp function, unsigned argument) {
  return getInputName(function, argument).getValue();
}

/// Checks that an argument has a type that can be trained, and that the program
/// does not update it already.
static LogicalResult checkTrained(func::FuncOp function, unsigned argument) {
  auto error = [&] {
    return function.emitError() << prefix(ErrorCode::NotTrainable)
                                << "argument " << getName(function, argument);
  };
  auto type =
      dyn_cast<RankedTensorType>(function.getArgument(argument).getType());
  Type element = type ? type.getElementType() : Type();
  if (element && element.isF16())
    return success(); // refuseHalves reports it
  if (!element || !(element.isF64() || element.isF32() || element.isBF16()))
    return error()
           << " is of type " << function.getArgument(argument).getType()
           << ", but only parameters of f64, f32 or bf16 can be trained";
  if (function.getArgAttr(argument, kDonatedAttr))
    return error() << " is already overwritten by a result (tp.donated): give "
                      "a program that does not update it";
  return success();
}

LogicalResult Selection::findTrained(func::FuncOp function,
                                     const Recipe &recipe) {
  SmallVector<unsigned> candidates;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (mayBeNamed(function, i))
      candidates.push_back(i);
  if (failed(checkPatterns(function, recipe.train, candidates, "train",
                           "parameter")))
    return failure();
  for (unsigned i : candidates) {
    bool isNamed = matchesAny(recipe.train, function, i);
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
  auto check = [&](ArrayRef<NamePattern> patterns, StringRef option) {
    return checkPatterns(function, patterns, trained, option,
                         "parameter that is trained");
  };
  return success(succeeded(check(recipe.decay, "decay")) &&
                 succeeded(check(recipe.noDecay, "no_decay")));
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Gradients in f16 underflow without loss scaling, which we do not support.
static LogicalResult refuseHalves(func::FuncOp function) {
  auto isHalf = [](Type type) { return getElementTypeOrSelf(type).isF16(); };
  auto refuse = [](Location loc) -> LogicalResult {
    return emitError(loc) << prefix(ErrorCode::HalfTraining)
                          << "parameters of f16 cannot be trained, because f16 "
                             "cannot represent gradients smaller than 6e-8: "
                             "train in bf16, with master=f32, or in f32";
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
