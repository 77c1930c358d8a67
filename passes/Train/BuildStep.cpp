// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-build-step: a step of training from the program of a loss.

#include "Step.h"
#include "tpopt/Passes/Train/Passes.h"

#include "dialects/TP/Interface.h"
#include "dialects/TP/ReverseMode.h"
#include "passes/Verify/GradientCheck.h"

namespace tp {
#define GEN_PASS_DEF_BUILDSTEPPASS
#include "tpopt/Passes/Train/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// The entry that stays as it was.
static constexpr StringLiteral kEvaluate = "evaluate";

/// The one entry of `module`, or the one called `name`; null after an error.
static func::FuncOp findEntry(ModuleOp module, StringRef name) {
  auto entries = llvm::filter_to_vector(
      module.getOps<func::FuncOp>(), [&](func::FuncOp function) {
        return isEntry(function) &&
               (name.empty() || function.getName() == name);
      });
  if (entries.size() == 1)
    return entries.front();
  InFlightDiagnostic error = module.emitError();
  error << prefix(ErrorCode::UnknownEntry);
  if (!name.empty())
    error << "the module has no entry '" << name << "'";
  else
    error << "the module has " << entries.size()
          << " entries: write entry= with the name of the one that is trained";
  return {};
}

/// Puts a copy of `function` beside it. Where the step takes a stack of inputs,
/// the copy's are called otherwise, since what entries share by name is one.
static LogicalResult keepForEvaluation(func::FuncOp function, bool isStacked) {
  auto module = function->getParentOfType<ModuleOp>();
  if (Operation *other = module.lookupSymbol(kEvaluate))
    return other->emitError()
           << prefix(ErrorCode::AlreadyTrains) << "@" << kEvaluate
           << " is the name of the entry that computes the loss without "
              "training: call this one otherwise";
  func::FuncOp copy = function.clone();
  copy.setName(kEvaluate);
  function->getBlock()->getOperations().insertAfter(function->getIterator(),
                                                    copy);
  for (unsigned i = 0; isStacked && i < copy.getNumArguments(); ++i)
    if (getRole(copy, i) == Role::Input)
      copy.setArgAttr(
          i, kNameAttr,
          StringAttr::get(copy.getContext(),
                          kEvaluate + "/" + getInputName(copy, i).getValue()));
  return success();
}

/// Proves the gradients that the step will have, on a copy of the program that
/// gives them.
static LogicalResult proveGradients(func::FuncOp function,
                                    const Selection &selection) {
  OwningOpRef<ModuleOp> module(ModuleOp::create(function.getLoc()));
  func::FuncOp copy = function.clone();
  module->push_back(copy);
  auto trained =
      llvm::map_to_vector(selection.trained, [&](unsigned i) -> Value {
        return copy.getArgument(i);
      });
  Value loss = copy.front().getTerminator()->getOperand(selection.loss);
  FailureOr<SmallVector<Value>> gradients = buildGradients(copy, loss, trained);
  if (failed(gradients))
    return failure();
  GradientCheckOptions options;
  options.loss = getOutputName(copy, selection.loss).str();
  for (auto [argument, gradient] :
       llvm::zip_equal(selection.trained, *gradients))
    addGradientResult(copy, argument, gradient);
  return checkGradients(copy, options);
}

namespace {
struct BuildStep : tp::impl::BuildStepPassBase<BuildStep> {
  using BuildStepPassBase::BuildStepPassBase;

  LogicalResult build() {
    ModuleOp module = getOperation();
    FailureOr<Recipe> recipe =
        Recipe::parse({loss, weight, train, optimizer, schedule, clip,
                       accumulate, master, decay, noDecay},
                      module.getLoc());
    if (failed(recipe))
      return failure();
    func::FuncOp function = findEntry(module, entry);
    if (!function)
      return failure();
    FailureOr<Selection> selection = Selection::find(function, *recipe);
    if (failed(selection))
      return failure();
    auto role = StringAttr::get(&getContext(), stringifyRole(Role::Parameter));
    for (unsigned argument : selection->trained)
      function.setArgAttr(argument, kRoleAttr, role);
    if (verify && failed(proveGradients(function, *selection)))
      return failure();
    return success(
        succeeded(keepForEvaluation(function, recipe->accumulate > 1)) &&
        succeeded(buildStep(function, *recipe, *selection)));
  }

  void runOnOperation() override {
    if (failed(build()))
      signalPassFailure();
  }
};
} // namespace
