// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Unused.h"

#include "tpopt/Program/Calls.h"

#include "mlir/IR/Iterators.h"

using namespace mlir;
using namespace tp;

namespace {

class UnusedFinder {
public:
  UnusedFinder(ModuleOp module, llvm::function_ref<bool(Operation *)> computes)
      : module(module), computes(computes) {}

  llvm::DenseSet<Operation *> run(ArrayRef<FunctionCalls> functions);

private:
  bool onlyComputes(Operation *op) const;
  bool isUnused(Operation *op) const;
  bool addFunctions();

  ModuleOp module;
  llvm::function_ref<bool(Operation *)> computes;
  /// Names of functions that only compute. Not of those that call themselves,
  /// which need not end.
  llvm::DenseSet<StringAttr> pure;
  llvm::DenseSet<Operation *> unused;
};

} // namespace

bool UnusedFinder::onlyComputes(Operation *op) const {
  if (auto call = dyn_cast<func::CallOp>(op))
    return pure.contains(call.getCalleeAttr().getRootReference());
  if (!computes(op))
    return false;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &nested : block)
        // The end of a region hands out results.
        if (&nested != &block.back() && !onlyComputes(&nested))
          return false;
  return true;
}

/// Or inside of what is.
bool UnusedFinder::isUnused(Operation *op) const {
  for (; op; op = op->getParentOp())
    if (unused.contains(op))
      return true;
  return false;
}

/// Functions that unused operations call, and nothing else. Whether there are
/// any more.
bool UnusedFinder::addFunctions() {
  llvm::DenseSet<StringAttr> candidates, used;
  for (Operation *op : unused)
    op->walk([&](func::CallOp call) { collectSymbols(call, candidates); });
  if (candidates.empty())
    return false;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (unused.contains(op))
      return WalkResult::skip();
    collectSymbols(op, used);
    return WalkResult::advance();
  });
  bool hasAny = false;
  for (auto function : module.getOps<func::FuncOp>())
    if (StringAttr name = function.getSymNameAttr();
        function.isPrivate() && candidates.contains(name) &&
        !used.contains(name))
      hasAny |= unused.insert(function).second;
  return hasAny;
}

llvm::DenseSet<Operation *>
UnusedFinder::run(ArrayRef<FunctionCalls> functions) {
  for (const auto &[function, calls] : functions) {
    auto isPure = [&](Operation &op) {
      return isa<func::ReturnOp>(op) || onlyComputes(&op);
    };
    if (func::FuncOp callee = function;
        !callee.isExternal() && llvm::all_of(callee.getOps(), isPure))
      pure.insert(callee.getNameAttr());
  }
  // Users stand behind what they use.
  module.walk<WalkOrder::PreOrder, ReverseIterator>([&](Operation *op) {
    if (op->getNumResults() != 0 &&
        llvm::all_of(op->getUsers(),
                     [&](Operation *user) { return isUnused(user); }) &&
        onlyComputes(op)) {
      unused.insert(op);
      return WalkResult::skip();
    }
    return WalkResult::advance();
  });
  while (addFunctions()) {
  }
  return std::move(unused);
}

FailureOr<llvm::DenseSet<Operation *>>
tp::stablehlo::findUnused(ModuleOp module,
                          llvm::function_ref<bool(Operation *)> computes) {
  FailureOr<std::vector<FunctionCalls>> functions = getCalleesFirst(module);
  if (failed(functions))
    return failure();
  return UnusedFinder(module, computes).run(*functions);
}
