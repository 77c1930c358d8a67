// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-build-step: builds a training step from a program that computes a loss.

#include "Accumulation.h"
#include "Step.h"
#include "WholeStep.h"
#include "tpopt/Passes/Train/Passes.h"

#include "dialects/TP/Interface.h"
#include "dialects/TP/ReverseMode.h"
#include "passes/Differentiate/Selection.h"
#include "passes/Verify/AccumulationCheck.h"
#include "passes/Verify/GradientCheck.h"

#include "mlir/IR/IRMapping.h"

namespace tp {
#define GEN_PASS_DEF_BUILDSTEPPASS
#include "tpopt/Passes/Train/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// The entry that contains the original program.
static constexpr StringLiteral kEvaluate = "evaluate";

/// Adds a copy of `function` to the module. If the training step takes stacked
/// inputs, the copy's inputs are renamed, since inputs with the same name are
/// shared between entries.
static LogicalResult keepForEvaluation(func::FuncOp function, bool isStacked) {
  auto module = function->getParentOfType<ModuleOp>();
  if (Operation *other = module.lookupSymbol(kEvaluate))
    return other->emitError()
           << prefix(ErrorCode::AlreadyTrains) << "@" << kEvaluate
           << " is the name of the entry that --tp-train adds, which computes "
              "the loss without training: give your function another name";
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

/// Verifies `gradients` on a copy of the program that computes them.
static LogicalResult proveGradients(func::FuncOp function,
                                    const Selection &selection,
                                    ArrayRef<Value> gradients) {
  OwningOpRef<ModuleOp> module(ModuleOp::create(function.getLoc()));
  IRMapping mapping;
  auto copy = cast<func::FuncOp>(function->clone(mapping));
  module->push_back(copy);
  for (auto [argument, gradient] :
       llvm::zip_equal(selection.trained, gradients))
    addGradientResult(copy, argument, mapping.lookup(gradient));
  GradientCheckOptions options;
  options.loss = getOutputName(copy, selection.loss).str();
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
    bool accumulates = recipe->accumulate > 1;
    OwningOpRef<func::FuncOp> program = function.clone();
    if (failed(keepForEvaluation(function, accumulates)))
      return failure();
    FailureOr<SmallVector<Value>> gradients =
        buildGradients(function, *selection);
    if (failed(gradients) ||
        (verify && failed(proveGradients(function, *selection, *gradients))))
      return failure();
    if (accumulates)
      tp::accumulate(function, *selection, recipe->accumulate, *gradients);
    if (failed(buildStep(function, *recipe, *selection, *gradients)))
      return failure();
    if (!verify || !accumulates)
      return success();
    return success(succeeded(buildWholeStep(*program, *recipe, *selection)) &&
                   succeeded(checkAccumulation(function, *program)));
  }

  void runOnOperation() override {
    if (failed(build()))
      signalPassFailure();
  }
};
} // namespace
