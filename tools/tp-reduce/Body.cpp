// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reduces the number of operations.

#include "Functions.h"
#include "Reductions.h"

#include "mlir/IR/Iterators.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// ReturnEarly
//===----------------------------------------------------------------------===//

/// Keeps the first `count` operations.
static bool returnEarly(func::FuncOp function, unsigned count) {
  setResults(function, getOp(function, count - 1)->getResults());
  while (countOps(function) > count)
    getOp(function, countOps(function) - 1)->erase();
  return true;
}

/// Makes the function return the results of one of its operations, and erases
/// all later operations. A binary search finds the first operation for which
/// the program stays interesting.
static bool tryReturnEarly(func::FuncOp function, PatternRewriter &rewriter,
                           Trials &trials) {
  if (countUsers(function) != 0)
    return false;
  unsigned few = 0, enough = countOps(function);
  bool isSmaller = false;
  while (enough > few + 1) {
    unsigned count = few + (enough - few) / 2;
    bool suffices = trials.change(function, rewriter,
                                  [&](func::FuncOp copy, const IRMapping &) {
                                    return returnEarly(copy, count);
                                  });
    (suffices ? enough : few) = count;
    // Some operations may have been erased as unused.
    enough = std::min(enough, countOps(function));
    isSmaller |= suffices;
  }
  return isSmaller;
}

//===----------------------------------------------------------------------===//
// EraseUnused
//===----------------------------------------------------------------------===//

static bool isEnd(Operation *op) { return op == &op->getBlock()->back(); }

static bool eraseUnused(func::FuncOp function) {
  bool isSmaller = false;
  // Visit users before the operations that they use.
  function.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (op == function || isEnd(op) || op->getNumResults() == 0 ||
        !op->use_empty())
      return;
    op->erase();
    isSmaller = true;
  });
  return isSmaller;
}

/// Erases operations whose results are not used.
static bool tryEraseUnused(func::FuncOp function, PatternRewriter &rewriter,
                           Trials &trials) {
  return trials.change(
      function, rewriter,
      [](func::FuncOp copy, const IRMapping &) { return eraseUnused(copy); });
}

//===----------------------------------------------------------------------===//
// TakeAsArguments
//===----------------------------------------------------------------------===//

static bool takeAsArguments(func::FuncOp function, unsigned begin,
                            unsigned end) {
  for (unsigned index = end; index-- > begin;) {
    Operation *op = getOp(function, index);
    for (Value result : op->getResults())
      if (!result.use_empty())
        result.replaceAllUsesWith(
            addArgument(function, result.getType(), op->getLoc()));
    op->erase();
  }
  return true;
}

/// Replaces the results of operations by arguments: first for half of the
/// operations, then for a quarter, .., then one by one.
static bool tryTakeAsArguments(func::FuncOp function, PatternRewriter &rewriter,
                               Trials &trials) {
  if (countUsers(function) != 0)
    return false;
  bool isSmaller = false;
  for (unsigned size = llvm::PowerOf2Ceil(countOps(function)); size;
       size /= 2) {
    unsigned begin = 0;
    while (begin < countOps(function)) {
      unsigned end = std::min(begin + size, countOps(function));
      if (trials.change(function, rewriter,
                        [&](func::FuncOp copy, const IRMapping &) {
                          return takeAsArguments(copy, begin, end);
                        }))
        isSmaller = true;
      else
        begin = end;
    }
  }
  return isSmaller;
}

//===----------------------------------------------------------------------===//
// ReplaceByExisting
//===----------------------------------------------------------------------===//

/// Returns the first of `values` that has the type, or null.
static Value findType(ValueRange values, Type type) {
  auto found = llvm::find_if(
      values, [&](Value value) { return value.getType() == type; });
  return found == values.end() ? Value() : *found;
}

/// Replaces the results of `op` by its operands; returns false if that is not
/// possible.
static bool replaceByOperands(Operation *op) {
  for (Value result : op->getResults()) {
    if (result.use_empty())
      continue;
    Value operand = findType(op->getOperands(), result.getType());
    if (!operand)
      return false;
    result.replaceAllUsesWith(operand);
  }
  op->erase();
  return true;
}

/// Replaces the results of `op` by arguments of the enclosing blocks; returns
/// false if that is not possible.
static bool replaceByArguments(Operation *op) {
  for (Value result : op->getResults()) {
    if (result.use_empty())
      continue;
    Value argument;
    for (Operation *at = op; !argument && !isa<func::FuncOp>(at);
         at = at->getParentOp())
      argument = findType(at->getBlock()->getArguments(), result.getType());
    if (!argument)
      return false;
    result.replaceAllUsesWith(argument);
  }
  op->erase();
  return true;
}

/// Erases operations. Each result is replaced by a value of the same type: an
/// operand of the operation, or an argument of an enclosing block.
static bool tryReplaceByExisting(func::FuncOp function,
                                 PatternRewriter &rewriter, Trials &trials) {
  SmallVector<Operation *> ops;
  auto collect = [&] {
    ops.clear();
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op != function && !isEnd(op))
        ops.push_back(op);
    });
  };
  collect();
  bool isSmaller = false;
  for (size_t index = ops.size(); index-- > 0;) {
    isSmaller |= llvm::any_of(
        ArrayRef{replaceByOperands, replaceByArguments}, [&](auto replace) {
          return trials.change(function, rewriter,
                               [&](func::FuncOp, const IRMapping &mapping) {
                                 return replace(mapping.lookup(ops[index]));
                               });
        });
    // Operations before this one keep their index, unless unused ones among
    // them were erased, too. Then some later operations are tried again.
    collect();
    index = std::min(index, ops.size());
  }
  return isSmaller;
}

static constexpr Reduction kBodyReductions[] = {
    tryReturnEarly, tryEraseUnused, tryTakeAsArguments, tryReplaceByExisting};

ArrayRef<Reduction> tp::getBodyReductions() { return kBodyReductions; }
