// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Passes/Import/Passes.h"

#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace tp {
#define GEN_PASS_DEF_INLINECALLSPASS
#include "tpopt/Passes/Import/Passes.h.inc"
} // namespace tp

using namespace mlir;

namespace {

struct InlineCalls : tp::impl::InlineCallsPassBase<InlineCalls> {
  void runOnOperation() override {
    // Walking a large program twice more for nothing is what this avoids.
    bool isNeeded = getOperation()
                        .walk([](Operation *op) {
                          auto function = dyn_cast<FunctionOpInterface>(op);
                          return isa<CallOpInterface>(op) ||
                                         (function && function.isPrivate())
                                     ? WalkResult::interrupt()
                                     : WalkResult::advance();
                        })
                        .wasInterrupted();
    if (!isNeeded)
      return markAllAnalysesPreserved();
    OpPassManager pipeline(ModuleOp::getOperationName());
    pipeline.addPass(createInlinerPass());
    pipeline.addPass(createSymbolDCEPass());
    if (failed(runPipeline(pipeline, getOperation())))
      signalPassFailure();
  }
};

} // namespace
