// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reduces the number of arguments and results of functions that are never
// called.

#include "Functions.h"
#include "Reductions.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

static bool dropResults(func::FuncOp function, unsigned begin, unsigned end) {
  llvm::BitVector dropped(function.getNumResults());
  dropped.set(begin, end);
  function.getBody().front().getTerminator()->eraseOperands(dropped);
  return succeeded(function.eraseResults(dropped));
}

static bool tryDropResults(func::FuncOp function, PatternRewriter &rewriter,
                           Trials &trials) {
  if (countUsers(function) != 0)
    return false;
  bool isSmaller = false;
  for (unsigned size = llvm::PowerOf2Ceil(function.getNumResults()); size;
       size /= 2) {
    unsigned begin = 0;
    while (begin < function.getNumResults()) {
      unsigned end = std::min(begin + size, function.getNumResults());
      if (trials.change(function, rewriter,
                        [&](func::FuncOp copy, const IRMapping &) {
                          return dropResults(copy, begin, end);
                        }))
        isSmaller = true;
      else
        begin = end;
    }
  }
  return isSmaller;
}

/// Drops arguments without uses.
static bool tryDropArguments(func::FuncOp function, PatternRewriter &rewriter,
                             Trials &trials) {
  if (countUsers(function) != 0)
    return false;
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  auto drop = [&](const llvm::BitVector &dropped) {
    return trials.change(
        function, rewriter, [&](func::FuncOp copy, const IRMapping &) {
          return dropped.any() && succeeded(copy.eraseArguments(dropped));
        });
  };
  if (drop(unused))
    return true;
  bool isSmaller = false;
  for (unsigned index = function.getNumArguments(); index-- > 0;) {
    if (!unused[index])
      continue;
    llvm::BitVector one(function.getNumArguments());
    one.set(index);
    isSmaller |= drop(one);
  }
  return isSmaller;
}

static constexpr Reduction kSignatureReductions[] = {tryDropResults,
                                                     tryDropArguments};

ArrayRef<Reduction> tp::getSignatureReductions() {
  return kSignatureReductions;
}
