// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Trials.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace tp;

static ModuleOp getModule(Operation *op) {
  while (Operation *parent = op->getParentOp())
    op = parent;
  return cast<ModuleOp>(op);
}

bool Trials::isInteresting(ModuleOp module) {
  {
    // Users do not need to see what went wrong with a change.
    ScopedDiagnosticHandler handler(module.getContext(), [](Diagnostic &) {});
    if (failed(verify(module)))
      return false;
  }
  std::string text;
  llvm::raw_string_ostream(text) << module;
  llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(llvm::arrayRefFromStringRef(text));
  auto [answer, isNew] = answers.try_emplace({hash.low64, hash.high64});
  if (isNew)
    answer->second =
        tester.isInteresting(module).first == Tester::Interestingness::True;
  return answer->second;
}

/// Folds and erases operations. --reduction-tree does the same without running
/// the test script, and crashes if the bug needs one of the erased operations.
static void simplify(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.getBody().walk([&](Operation *op) { ops.push_back(op); });
  (void)applyOpPatternsGreedily(ops, FrozenRewritePatternSet());
}

bool Trials::change(func::FuncOp function, PatternRewriter &rewriter,
                    Change change) {
  IRMapping mapping;
  ModuleOp module = getModule(function);
  OwningOpRef<ModuleOp> trial = cast<ModuleOp>(module->clone(mapping));
  auto copy = cast<func::FuncOp>(mapping.lookup(function.getOperation()));
  if (!change(copy, mapping))
    return false;
  simplify(copy);
  if (!isInteresting(*trial))
    return false;
  rewriter.modifyOpInPlace(function, [&] {
    function->copyProperties(copy->getPropertiesStorage());
    function->setDiscardableAttrs(copy->getDiscardableAttrDictionary());
    function.getBody().takeBody(copy.getBody());
  });
  module->setDiscardableAttrs(trial.get()->getDiscardableAttrDictionary());
  return true;
}

bool Trials::erase(Operation *op, PatternRewriter &rewriter) {
  IRMapping mapping;
  OwningOpRef<ModuleOp> trial = cast<ModuleOp>(getModule(op)->clone(mapping));
  mapping.lookup(op)->erase();
  if (!isInteresting(*trial))
    return false;
  rewriter.eraseOp(op);
  return true;
}
