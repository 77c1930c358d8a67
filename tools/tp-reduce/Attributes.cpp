// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Drops discardable attributes. Inherent attributes stay, as operations need
// them.

#include "Reductions.h"

using namespace mlir;
using namespace tp;

static bool hasAttributes(Operation *op) {
  return !op->getDiscardableAttrDictionary().empty();
}

/// Drops attributes of operations, the function and the module.
static bool tryDropAttributes(func::FuncOp function, PatternRewriter &rewriter,
                              Trials &trials) {
  // First tries all operations together, then one operation at a time.
  SmallVector<Operation *> ops;
  auto collect = [&] {
    ops.clear();
    ops.push_back(function->getParentOfType<ModuleOp>());
    function.walk([&](Operation *op) { ops.push_back(op); });
  };
  auto drop = [&](ArrayRef<Operation *> of) {
    return llvm::any_of(of, hasAttributes) &&
           trials.change(function, rewriter,
                         [&](func::FuncOp, const IRMapping &mapping) {
                           for (Operation *op : of)
                             mapping.lookup(op)->setDiscardableAttrs(
                                 ArrayRef<NamedAttribute>());
                           return true;
                         });
  };
  collect();
  if (drop(ops))
    return true;
  bool isSmaller = false;
  for (size_t index = 0; index < ops.size(); ++index)
    if (drop(ops[index])) {
      isSmaller = true;
      collect();
    }
  return isSmaller;
}

static bool hasAny(DictionaryAttr attributes) {
  return attributes && !attributes.empty();
}

/// Drops attributes of arguments and results.
static bool tryDropSignatureAttributes(func::FuncOp function,
                                       PatternRewriter &rewriter,
                                       Trials &trials) {
  auto change = [&](llvm::function_ref<void(func::FuncOp)> drop) {
    return trials.change(function, rewriter,
                         [&](func::FuncOp copy, const IRMapping &) {
                           drop(copy);
                           return true;
                         });
  };
  bool isSmaller = false;
  if (function.getResAttrsAttr())
    isSmaller |= change([](func::FuncOp copy) { copy.removeResAttrsAttr(); });
  if (function.getArgAttrsAttr())
    isSmaller |= change([](func::FuncOp copy) { copy.removeArgAttrsAttr(); });
  DictionaryAttr none = DictionaryAttr::get(function.getContext());
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    if (hasAny(function.getResultAttrDict(index)))
      isSmaller |=
          change([&](func::FuncOp copy) { copy.setResultAttrs(index, none); });
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    if (hasAny(function.getArgAttrDict(index)))
      isSmaller |=
          change([&](func::FuncOp copy) { copy.setArgAttrs(index, none); });
  return isSmaller;
}

static constexpr Reduction kAttributeReductions[] = {
    tryDropAttributes, tryDropSignatureAttributes};

ArrayRef<Reduction> tp::getAttributeReductions() {
  return kAttributeReductions;
}
