// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Unused.h"

#include "passes/Import/Calls.h"

#include "mlir/IR/Iterators.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

namespace {

class UnusedFinder {
public:
  UnusedFinder(ModuleOp module, llvm::function_ref<bool(Operation *)> computes)
      : module(module), computes(computes) {}

  Unused run(ArrayRef<FunctionCalls> functions);

private:
  bool onlyComputes(Operation *op) const;
  bool isUnused(Operation *op) const;
  void addFunctions(ArrayRef<FunctionCalls> functions);

  ModuleOp module;
  llvm::function_ref<bool(Operation *)> computes;
  Unused unused;
};

} // namespace

bool UnusedFinder::onlyComputes(Operation *op) const {
  if (auto call = dyn_cast<func::CallOp>(op))
    return unused.pure.contains(call.getCalleeAttr().getRootReference());
  if (!computes(op))
    return false;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &nested : block)
        // The terminator of a region only passes on results.
        if (&nested != &block.back() && !onlyComputes(&nested))
          return false;
  return true;
}

/// An operation inside of an unused one is also unused.
bool UnusedFinder::isUnused(Operation *op) const {
  for (; op; op = op->getParentOp())
    if (unused.ops.contains(op))
      return true;
  return false;
}

/// Adds the functions that only unused operations call.
void UnusedFinder::addFunctions(ArrayRef<FunctionCalls> functions) {
  llvm::DenseSet<StringAttr> candidates, used;
  for (Operation *op : unused.ops)
    op->walk([&](func::CallOp call) { collectSymbols(call, candidates); });
  if (candidates.empty())
    return;
  module.walk([&](Operation *op) {
    if (!isa<func::CallOp>(op))
      collectSymbols(op, used);
  });
  // Visits callers before the functions that they call. None of the candidates
  // is recursive.
  for (const auto &[function, calls] : llvm::reverse(functions)) {
    func::FuncOp caller = function;
    StringAttr name = caller.getSymNameAttr();
    bool isUsed = !caller.isPrivate() || !candidates.contains(name) ||
                  used.contains(name);
    if (!isUsed)
      unused.ops.insert(caller);
    for (func::CallOp call : calls)
      if (!isUsed || !isUnused(call))
        collectSymbols(call, isUsed ? used : candidates);
  }
}

Unused UnusedFinder::run(ArrayRef<FunctionCalls> functions) {
  for (const auto &[function, calls] : functions) {
    auto isPure = [&](Operation &op) {
      return isa<func::ReturnOp>(op) || onlyComputes(&op);
    };
    if (func::FuncOp callee = function;
        !callee.isExternal() && llvm::all_of(callee.getOps(), isPure))
      unused.pure.insert(callee.getNameAttr());
  }
  // Users come after the operations that they use.
  module.walk<WalkOrder::PreOrder, ReverseIterator>([&](Operation *op) {
    if (op->getNumResults() != 0 &&
        llvm::all_of(op->getUsers(),
                     [&](Operation *user) { return isUnused(user); }) &&
        onlyComputes(op)) {
      unused.ops.insert(op);
      return WalkResult::skip();
    }
    return WalkResult::advance();
  });
  addFunctions(functions);
  return std::move(unused);
}

FailureOr<Unused>
tp::stablehlo::findUnused(ModuleOp module,
                          llvm::function_ref<bool(Operation *)> computes) {
  FailureOr<std::vector<FunctionCalls>> functions = getCalleesFirst(module);
  if (failed(functions))
    return failure();
  return UnusedFinder(module, computes).run(*functions);
}
