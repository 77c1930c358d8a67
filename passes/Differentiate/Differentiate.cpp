// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Adds the gradients of a loss to the results of a function.

#include "Selection.h"

#include "dialects/TP/Interface.h"
#include "dialects/TP/ReverseMode.h"
#include "tpopt/Passes/Differentiate/Passes.h"
#include "tpopt/Support/ErrorCodes.h"

namespace tp {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "tpopt/Passes/Differentiate/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// Returns the floating-point arguments that `patterns` match; without
/// patterns, all parameters.
static FailureOr<SmallVector<unsigned>>
findTrained(func::FuncOp function, ArrayRef<NamePattern> patterns) {
  SmallVector<unsigned> floats, found;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (isFloatTensor(function.getArgumentTypes()[i]))
      floats.push_back(i);
  if (failed(checkPatterns(function, patterns, floats, "train",
                           "floating-point argument")))
    return failure();
  for (unsigned i : floats)
    if (patterns.empty() ? getRole(function, i) == Role::Parameter
                         : matchesAny(patterns, function, i))
      found.push_back(i);
  if (found.empty())
    return emitNoParameter(function);
  return found;
}

namespace {

struct Differentiate : tp::impl::DifferentiatePassBase<Differentiate> {
  using DifferentiatePassBase::DifferentiatePassBase;

  LogicalResult differentiate() {
    ModuleOp module = getOperation();
    std::vector<NamePattern> patterns;
    for (const std::string &text : train) {
      llvm::Expected<NamePattern> pattern =
          NamePattern::create(&getContext(), text);
      if (!pattern)
        return module.emitError()
               << prefix(ErrorCode::NotTrainable) << "train=" << text
               << " is not a valid pattern: "
               << llvm::toString(pattern.takeError());
      patterns.push_back(std::move(*pattern));
    }
    func::FuncOp function = findEntry(module, entry);
    if (!function)
      return failure();
    FailureOr<unsigned> found = findLoss(function, loss);
    if (failed(found))
      return failure();
    FailureOr<SmallVector<unsigned>> trained = findTrained(function, patterns);
    if (failed(trained))
      return failure();
    SmallVector<Value> wanted;
    for (unsigned argument : *trained)
      wanted.push_back(function.getArgument(argument));
    Operation *end = function.getFunctionBody().front().getTerminator();
    FailureOr<SmallVector<Value>> gradients =
        buildGradients(function, end->getOperand(*found), wanted);
    if (failed(gradients))
      return failure();
    for (auto [argument, gradient] : llvm::zip_equal(*trained, *gradients))
      addGradientResult(function, argument, gradient);
    return success();
  }

  void runOnOperation() override {
    if (failed(differentiate()))
      signalPassFailure();
  }
};

} // namespace
