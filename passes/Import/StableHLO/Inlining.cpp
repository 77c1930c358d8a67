// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Inlining.h"

#include "Conversion.h"
#include "Groups.h"

#include "passes/Import/Calls.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

/// Returns true if `op` has a region that is read as a function of elements.
/// All regions of StableHLO operations are read in this way, except those of
/// control flow.
static bool combinesElements(Operation *op) {
  OperationName name = op->getName();
  return name.getDialectNamespace() == "stablehlo" &&
         llvm::none_of(getControlFlowRows(), [&](const Row &row) {
           return row.name == name.getStringRef();
         });
}

namespace {
/// Inlines callees before callers. Calls of functions with exchanges are always
/// inlined. Calls of other functions are inlined only in regions that combine
/// elements.
class Inliner {
public:
  explicit Inliner(ModuleOp module) : module(module) {}

  LogicalResult run() {
    FailureOr<std::vector<FunctionCalls>> functions = getCalleesFirst(module);
    if (failed(functions))
      return failure();
    for (const FunctionCalls &caller : *functions)
      visit(caller);
    llvm::DenseSet<StringAttr> named;
    module.walk([&](Operation *op) { collectSymbols(op, named); });
    for (auto [name, function] : closed)
      if ((inlined.contains(name) || exchanging.contains(name)) &&
          function.isPrivate() && !named.contains(name))
        function.erase();
    return success();
  }

private:
  void visit(const FunctionCalls &caller) {
    func::FuncOp function = caller.function;
    bool exchanges = false, isClosed = function.getBody().hasOneBlock();
    function.walk([&](Operation *op) { exchanges |= isExchange(op); });
    for (func::CallOp call : caller.calls) {
      StringAttr callee = call.getCalleeAttr().getRootReference();
      // A recursive function stays as it is, and is refused at its call.
      isClosed &= visited.contains(callee);
      exchanges |= exchanging.contains(callee) && closed.contains(callee);
      inlineWhereWanted(call);
    }
    StringAttr name = function.getNameAttr();
    visited.insert(name);
    if (isClosed)
      closed[name] = function;
    if (exchanges)
      exchanging.insert(name);
  }

  /// Also inlines calls that are copied from the callee, if they are then in a
  /// region that combines elements.
  void inlineWhereWanted(func::CallOp outermost) {
    SmallVector<func::CallOp> open{outermost};
    while (!open.empty()) {
      func::CallOp call = open.pop_back_val();
      StringAttr callee = call.getCalleeAttr().getRootReference();
      auto it = closed.find(callee);
      if (it == closed.end() || (!exchanging.contains(callee) &&
                                 !combinesElements(call->getParentOp())))
        continue;
      inlined.insert(callee);
      Block &body = it->second.getBody().front();
      OpBuilder builder(call);
      IRMapping mapping;
      mapping.map(body.getArguments(), call.getOperands());
      for (Operation &op : body.without_terminator())
        if (auto copy = dyn_cast<func::CallOp>(builder.clone(op, mapping)))
          open.push_back(copy);
      for (auto [result, value] : llvm::zip_equal(
               call.getResults(), body.getTerminator()->getOperands()))
        result.replaceAllUsesWith(mapping.lookupOrDefault(value));
      call.erase();
    }
  }

  ModuleOp module;
  llvm::DenseSet<StringAttr> visited, exchanging, inlined;
  /// The functions that can be inlined.
  llvm::DenseMap<StringAttr, func::FuncOp> closed;
};
} // namespace

/// Returns true if the result of `op` equals its operand, and `op` is a barrier
/// or gives the operand a sharding.
static bool isAnnotation(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return op->getNumOperands() == 1 && op->getNumResults() == 1 &&
         op->getOperand(0).getType() == op->getResult(0).getType() &&
         (name == "sdy.sharding_constraint" || name == "sdy.reshard" ||
          name == "sdy.propagation_barrier" ||
          name == "stablehlo.optimization_barrier" ||
          getCallTarget(op) == "Sharding");
}

/// Collects the comparators that a call refers to.
static void collectComparators(Operation *op,
                               llvm::DenseSet<StringAttr> &names) {
  if (auto list = op->getAttrOfType<ArrayAttr>("called_computations"))
    for (auto name : list.getAsRange<FlatSymbolRefAttr>())
      names.insert(name.getRootReference());
}

/// Erases constraints on single elements, which have no sharding. In a region
/// that is manual along only some axes, JAX constrains all values, even the
/// elements that a reduction combines or a sort compares.
static void dropAnnotationsOfElements(ModuleOp module) {
  llvm::DenseSet<StringAttr> comparators;
  module.walk([&](Operation *op) { collectComparators(op, comparators); });
  module.walk([&](Operation *op) {
    if (!isAnnotation(op))
      return;
    auto function = dyn_cast<func::FuncOp>(op->getParentOp());
    bool isOfElements = function
                            ? comparators.contains(function.getSymNameAttr())
                            : combinesElements(op->getParentOp());
    if (!isOfElements)
      return;
    op->replaceAllUsesWith(op->getOperands());
    op->erase();
  });
}

LogicalResult stablehlo::inlineCalls(ModuleOp module) {
  if (failed(Inliner(module).run()))
    return failure();
  dropAnnotationsOfElements(module);
  return success();
}
