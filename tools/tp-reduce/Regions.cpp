// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reduces the number of regions, of calls, and of loop-carried values.

#include "Functions.h"
#include "Reductions.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// LiftRegion
//===----------------------------------------------------------------------===//

/// Returns `values[index]` if it has the type of `replaced`, and otherwise a
/// new argument.
static Value getOrTake(func::FuncOp function, ArrayRef<Value> values,
                       unsigned index, Value replaced) {
  if (index < values.size() && values[index].getType() == replaced.getType())
    return values[index];
  return addArgument(function, replaced.getType(), replaced.getLoc());
}

static bool liftRegion(func::FuncOp function, Operation *op, unsigned number) {
  Region &region = op->getRegion(number);
  if (!region.hasOneBlock() || region.front().empty())
    return false;
  Block &block = region.front();
  auto operands = llvm::to_vector(op->getOperands());
  for (BlockArgument argument : block.getArguments())
    if (!argument.use_empty())
      argument.replaceAllUsesWith(
          getOrTake(function, operands, argument.getArgNumber(), argument));
  auto yielded = llvm::to_vector(block.back().getOperands());
  op->getBlock()->getOperations().splice(op->getIterator(),
                                         block.getOperations(), block.begin(),
                                         std::prev(block.end()));
  for (OpResult result : op->getResults())
    if (!result.use_empty())
      result.replaceAllUsesWith(
          getOrTake(function, yielded, result.getResultNumber(), result));
  op->erase();
  // The function returns the yielded values that nothing uses, since they would
  // otherwise be erased.
  llvm::erase_if(yielded, [](Value value) { return !value.use_empty(); });
  addResults(function, yielded);
  return true;
}

/// Moves the operations of a region in front of the op that contains the
/// region, and erases that op. The moved operations then run once.
static bool tryLiftRegion(func::FuncOp function, PatternRewriter &rewriter,
                          Trials &trials) {
  if (countUsers(function) != 0)
    return false;
  for (unsigned index = countOps(function); index-- > 0;)
    for (unsigned number = getOp(function, index)->getNumRegions();
         number-- > 0;)
      if (trials.change(function, rewriter,
                        [&](func::FuncOp copy, const IRMapping &) {
                          return liftRegion(copy, getOp(copy, index), number);
                        }))
        return true;
  return false;
}

//===----------------------------------------------------------------------===//
// InlineCall
//===----------------------------------------------------------------------===//

static bool inlineCall(func::FuncOp function, func::CallOp call,
                       func::FuncOp callee, bool isFree) {
  IRMapping mapping;
  Block &body = callee.getBody().front();
  mapping.map(body.getArguments(), call.getOperands());
  OpBuilder builder(call);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> unused;
  for (auto [result, returned] :
       llvm::zip_equal(call.getResults(), body.back().getOperands())) {
    Value value = mapping.lookup(returned);
    if (result.use_empty() && value.use_empty())
      unused.push_back(value);
    result.replaceAllUsesWith(value);
  }
  if (isFree && call->getParentOp() == function)
    addResults(function, unused);
  call.erase();
  return true;
}

/// Inlines the only call of a function. The caller then also returns the
/// callee's results that nothing uses, since they would otherwise be erased.
static bool tryInlineCall(func::FuncOp function, PatternRewriter &rewriter,
                          Trials &trials) {
  bool isFree = countUsers(function) == 0;
  auto module = function->getParentOfType<ModuleOp>();
  SmallVector<std::pair<func::CallOp, func::FuncOp>> calls;
  function.walk([&](func::CallOp call) {
    auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
    if (callee && callee != function && endsInReturn(callee) &&
        countUsers(callee) == 1)
      calls.push_back({call, callee});
  });
  return llvm::any_of(calls, [&](auto pair) {
    auto [call, callee] = pair;
    return trials.change(
        function, rewriter,
        [&, call = call.getOperation(),
         callee = callee](func::FuncOp copy, const IRMapping &mapping) {
          return inlineCall(copy, cast<func::CallOp>(mapping.lookup(call)),
                            callee, isFree);
        });
  });
}

//===----------------------------------------------------------------------===//
// DropCarried
//===----------------------------------------------------------------------===//

/// Returns true if the op has the form of a loop, like stablehlo.while,
/// tp.while and tp.for: each operand initializes one of the last arguments of
/// each region, and belongs to one result.
static bool isLoop(Operation *op) {
  unsigned count = op->getNumResults();
  return count != 0 && op->getNumRegions() != 0 &&
         op->getNumOperands() == count &&
         llvm::all_of(op->getRegions(),
                      [&](Region &region) {
                        return region.hasOneBlock() &&
                               !region.front().empty() &&
                               region.getNumArguments() >= count;
                      }) &&
         op->getRegions().back().front().back().getNumOperands() == count;
}

/// Drops carried value number `index`.
static bool dropCarried(Operation *loop, unsigned index) {
  Value initial = loop->getOperand(index);
  unsigned fromEnd = loop->getNumResults() - index;
  for (Region &region : loop->getRegions()) {
    unsigned number = region.getNumArguments() - fromEnd;
    if (region.getArgument(number).getType() != initial.getType())
      return false;
    region.getArgument(number).replaceAllUsesWith(initial);
    region.eraseArgument(number);
  }
  loop->getRegions().back().front().back().eraseOperand(index);
  SmallVector<Type> types(loop->getResultTypes());
  if (types[index] != initial.getType())
    return false;
  types.erase(types.begin() + index);
  auto operands = llvm::to_vector(loop->getOperands());
  operands.erase(operands.begin() + index);
  OperationState state(loop->getLoc(), loop->getName());
  state.addOperands(operands);
  state.addTypes(types);
  state.addAttributes(llvm::to_vector(loop->getDiscardableAttrs()));
  state.propertiesAttr = loop->getPropertiesAsAttribute();
  for (Region &region : loop->getRegions())
    state.addRegion()->takeBody(region);
  Operation *smaller = OpBuilder(loop).create(state);
  loop->getResult(index).replaceAllUsesWith(initial);
  for (OpResult result : loop->getResults())
    if (unsigned number = result.getResultNumber(); number != index)
      result.replaceAllUsesWith(smaller->getResult(number - (number > index)));
  loop->erase();
  return true;
}

/// Removes a value that a loop carries. In the loop and after the loop, the
/// initial value is used instead.
static bool tryDropCarried(func::FuncOp function, PatternRewriter &rewriter,
                           Trials &trials) {
  SmallVector<Operation *> loops;
  function.walk([&](Operation *op) {
    if (op != function && isLoop(op))
      loops.push_back(op);
  });
  for (Operation *loop : loops)
    for (unsigned index = loop->getNumResults(); index-- > 0;)
      if (trials.change(function, rewriter,
                        [&](func::FuncOp, const IRMapping &mapping) {
                          return dropCarried(mapping.lookup(loop), index);
                        }))
        return true;
  return false;
}

static constexpr Reduction kRegionReductions[] = {tryLiftRegion, tryInlineCall,
                                                  tryDropCarried};

ArrayRef<Reduction> tp::getRegionReductions() { return kRegionReductions; }
