// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-inline-calls: inlines calls, so that only the entry functions remain.
//
// MLIR's inliner is not used, because it splits the caller's block at every
// call and moves all ops after the call. This is slow, because JAX calls small
// functions thousands of times.

#include "passes/Import/Calls.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Import/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace tp {
#define GEN_PASS_DEF_INLINECALLSPASS
#include "tpopt/Passes/Import/Passes.h.inc"
} // namespace tp

using namespace mlir;

namespace {

/// Inlines callees before callers, each function once.
class CallInliner {
public:
  explicit CallInliner(ModuleOp module) : module(module) {}

  LogicalResult run() {
    FailureOr<std::vector<tp::FunctionCalls>> functions =
        tp::getCalleesFirst(module);
    if (failed(functions))
      return failure();
    for (auto &[function, calls] : *functions) {
      for (func::CallOp call : calls) {
        // A recursive call is not inlined and stays in the program.
        func::FuncOp callee =
            done.lookup(call.getCalleeAttr().getRootReference());
        if (callee && callee.getBody().hasOneBlock())
          inlineCall(call, callee.getBody().front());
      }
      done[function.getNameAttr()] = function;
    }
    return success();
  }

private:
  void inlineCall(func::CallOp call, Block &body) {
    OpBuilder builder(call);
    IRMapping mapping;
    mapping.map(body.getArguments(), call.getOperands());
    llvm::DenseMap<Location, Location> places;
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping)->walk([&](Operation *inner) {
        Location own = inner->getLoc();
        auto [entry, isNew] = places.try_emplace(own, own);
        if (isNew)
          entry->second = CallSiteLoc::get(own, call.getLoc());
        inner->setLoc(entry->second);
      });
    for (auto [result, value] : llvm::zip_equal(
             call.getResults(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    call.erase();
  }

  ModuleOp module;
  llvm::DenseMap<StringAttr, func::FuncOp> done;
};

/// Erases private functions that no function in use refers to. MLIR's
/// symbol-dce is not used, because it searches all attributes of all ops and
/// causes the ops to be verified again.
class FunctionEraser {
public:
  explicit FunctionEraser(ModuleOp module) : module(module) {}

  void run() {
    SmallVector<Operation *> live;
    for (Operation &op : *module.getBody()) {
      auto function = dyn_cast<func::FuncOp>(op);
      if (function && function.isPrivate())
        unnamed[function.getNameAttr()] = function;
      else
        live.push_back(&op);
    }
    while (!live.empty() && !unnamed.empty())
      live.pop_back_val()->walk([&](Operation *op) {
        // The properties of ops of our own dialects never name a function, and
        // nearly all ops belong to these dialects.
        bool isOurs = isa_and_present<tp::TPDialect, tp::spmd::SPMDDialect>(
            op->getDialect());
        DictionaryAttr attributes =
            isOurs ? op->getRawDictionaryAttrs() : op->getAttrDictionary();
        if (!seen.insert(attributes).second)
          return;
        attributes.walk([&](SymbolRefAttr name) {
          auto it = unnamed.find(name.getRootReference());
          if (it == unnamed.end())
            return;
          live.push_back(it->second);
          unnamed.erase(it);
        });
      });
    for (auto &[name, function] : unnamed)
      function.erase();
  }

private:
  ModuleOp module;
  llvm::DenseMap<StringAttr, func::FuncOp> unnamed;
  llvm::DenseSet<Attribute> seen;
};

struct InlineCalls : tp::impl::InlineCallsPassBase<InlineCalls> {
  void runOnOperation() override {
    // Without calls and private functions there is nothing to do; this check
    // saves two walks over a large program.
    bool isNeeded =
        getOperation()
            .walk([](Operation *op) {
              auto function = dyn_cast<func::FuncOp>(op);
              return isa<func::CallOp>(op) || (function && function.isPrivate())
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            })
            .wasInterrupted();
    if (!isNeeded)
      return markAllAnalysesPreserved();
    if (failed(CallInliner(getOperation()).run()))
      return signalPassFailure();
    FunctionEraser(getOperation()).run();
  }
};

} // namespace
