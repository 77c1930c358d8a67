// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Unused.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"

using namespace mlir;

namespace {

class UnusedFinder {
public:
  UnusedFinder(ModuleOp module, llvm::function_ref<bool(Operation *)> computes)
      : module(module), computes(computes) {}

  llvm::DenseSet<Operation *> run();

private:
  bool onlyComputes(Operation *op);
  bool onlyComputes(func::FuncOp function);
  bool isUnused(Operation *op) const;
  bool addFunctions();

  ModuleOp module;
  llvm::function_ref<bool(Operation *)> computes;
  SymbolTableCollection symbols;
  /// Also false while it is being found out: recursion need not end.
  llvm::DenseMap<Operation *, bool> knownFunctions;
  unsigned numCallers = 0; ///< Of the function at hand.
  llvm::DenseSet<Operation *> unused;
};

} // namespace

bool UnusedFinder::onlyComputes(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op)) {
    auto function =
        symbols.lookupNearestSymbolFrom<func::FuncOp>(op, call.getCalleeAttr());
    return function && onlyComputes(function);
  }
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

bool UnusedFinder::onlyComputes(func::FuncOp function) {
  auto [it, isNew] = knownFunctions.try_emplace(function, false);
  if (!isNew)
    return it->second;
  constexpr unsigned kMostCallers = 256; // all are on the stack
  bool result = ++numCallers < kMostCallers && !function.isExternal();
  for (Block &block : function.getBody())
    for (Operation &op : block)
      result = result && (isa<func::ReturnOp>(op) || onlyComputes(&op));
  --numCallers;
  return knownFunctions[function] = result;
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
  // SymbolTable does not find what our reader's operations refer to.
  auto collect = [](Operation *op, llvm::DenseSet<StringAttr> &names) {
    auto collectFrom = [&](Attribute attribute) {
      if (attribute)
        attribute.walk([&](SymbolRefAttr symbol) {
          names.insert(symbol.getRootReference());
        });
    };
    collectFrom(op->getDiscardableAttrDictionary());
    collectFrom(op->getPropertiesAsAttribute());
  };
  llvm::DenseSet<StringAttr> candidates, used;
  for (Operation *op : unused)
    op->walk([&](func::CallOp call) { collect(call, candidates); });
  if (candidates.empty())
    return false;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (unused.contains(op))
      return WalkResult::skip();
    collect(op, used);
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

llvm::DenseSet<Operation *> UnusedFinder::run() {
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

llvm::DenseSet<Operation *>
tp::stablehlo::findUnused(ModuleOp module,
                          llvm::function_ref<bool(Operation *)> computes) {
  return UnusedFinder(module, computes).run();
}
