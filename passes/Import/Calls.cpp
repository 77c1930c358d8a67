// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Import/Calls.h"

#include "tpopt/Support/ErrorCodes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

/// The largest training step seen so far has 130 thousand ops.
static constexpr uint64_t kMostOps = 1 << 22;

namespace {

/// Traverses calls depth first, with an explicit stack because a chain of calls
/// may have any length.
class CallGraph {
public:
  explicit CallGraph(ModuleOp module) : module(module) {
    for (auto function : module.getOps<func::FuncOp>())
      functions[function.getNameAttr()] = function;
  }

  FailureOr<std::vector<FunctionCalls>> sort();

private:
  struct Visit {
    FunctionCalls own;
    uint64_t numOps = 0;
    size_t next = 0; ///< The index of the next call.
  };
  void open(func::FuncOp function);
  LogicalResult close();

  ModuleOp module;
  llvm::DenseMap<StringAttr, func::FuncOp> functions;
  /// The number of operations of each visited function with all calls inlined;
  /// 0 until the function is done.
  llvm::DenseMap<Operation *, uint64_t> sizes;
  std::vector<Visit> stack;
  std::vector<FunctionCalls> done;
};

} // namespace

void CallGraph::open(func::FuncOp function) {
  if (!sizes.try_emplace(function, 0).second)
    return;
  Visit &visit = stack.emplace_back();
  visit.own.function = function;
  function.walk([&](Operation *op) {
    ++visit.numOps;
    if (auto call = dyn_cast<func::CallOp>(op))
      visit.own.calls.push_back(call);
  });
}

LogicalResult CallGraph::close() {
  Visit visit = std::move(stack.back());
  stack.pop_back();
  func::FuncOp function = visit.own.function;
  for (func::CallOp call : visit.own.calls)
    visit.numOps = llvm::SaturatingAdd(
        visit.numOps, sizes.lookup(functions.lookup(
                          call.getCalleeAttr().getRootReference())));
  if (!visit.own.calls.empty() && visit.numOps > kMostOps)
    return function.emitError()
           << prefix(ErrorCode::TooManyCalls) << "with its calls inlined, @"
           << function.getName() << " has more than " << kMostOps
           << " operations: write repeated work as a loop";
  sizes[function] = visit.numOps;
  done.push_back(std::move(visit.own));
  return success();
}

FailureOr<std::vector<FunctionCalls>> CallGraph::sort() {
  for (auto function : module.getOps<func::FuncOp>()) {
    open(function);
    while (!stack.empty()) {
      Visit &visit = stack.back();
      if (visit.next == visit.own.calls.size()) {
        if (failed(close()))
          return failure();
        continue;
      }
      func::CallOp call = visit.own.calls[visit.next++];
      if (func::FuncOp callee =
              functions.lookup(call.getCalleeAttr().getRootReference()))
        open(callee);
    }
  }
  return std::move(done);
}

FailureOr<std::vector<FunctionCalls>> tp::getCalleesFirst(ModuleOp module) {
  return CallGraph(module).sort();
}

void tp::collectSymbols(Operation *op, llvm::DenseSet<StringAttr> &names) {
  auto collectFrom = [&](Attribute attribute) {
    if (attribute)
      attribute.walk([&](SymbolRefAttr symbol) {
        names.insert(symbol.getRootReference());
      });
  };
  collectFrom(op->getDiscardableAttrDictionary());
  collectFrom(op->getPropertiesAsAttribute());
}
