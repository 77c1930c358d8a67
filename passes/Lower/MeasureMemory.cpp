// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the compiled program will allocate, found by compiling a copy up to the
// places of buffers. Fusion, copies and gaps decide it: no rule of thumb knows.

#include "PlannedTarget.h"

#include "tpopt/Dialect/Step/Step.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Lower/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

namespace tp {
#define GEN_PASS_DEF_MEASUREMEMORYPASS
#include "tpopt/Passes/Lower/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

static int64_t getAllocatedBytes(step::ProgramOp program,
                                 const Target &target) {
  int64_t bytes = program.getArena().value_or(0);
  for (auto output : program.getOutputs().getAsRange<step::OutputAttr>())
    if (output.getAlias() < 0)
      bytes += step::getEndByte(MemRefType::get(
          output.getType().getShape(), output.getType().getElementType()));
  auto multiplies =
      program.walk([](step::MatmulOp) { return WalkResult::interrupt(); });
  if (multiplies.wasInterrupted())
    bytes += target.getWorkspaceBytes();
  return bytes;
}

namespace {

struct MeasureMemory : tp::impl::MeasureMemoryPassBase<MeasureMemory> {
  using MeasureMemoryPassBase::MeasureMemoryPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<const Target *> wanted = getPlannedTarget(module, target, fp8);
    if (failed(wanted))
      return signalPassFailure();
    // A pipeline runs on what is inside of the pass's operation.
    ModuleOp copy = module.clone();
    module.push_back(copy);
    OpPassManager lower(ModuleOp::getOperationName());
    lower.addPass(createLowerToStepPass({target, fp8}));
    lower.addNestedPass<step::ProgramOp>(createAssignBuffersPass());
    LogicalResult lowered = success();
    {
      // The program itself is lowered later, and its remarks told then.
      ScopedDiagnosticHandler errors(&getContext(), [](Diagnostic &diagnostic) {
        return success(diagnostic.getSeverity() != DiagnosticSeverity::Error);
      });
      lowered = runPipeline(lower, copy);
    }
    if (succeeded(lowered))
      for (auto program : copy.getOps<step::ProgramOp>())
        module.lookupSymbol(program.getSymName())
            ->setAttr(kAllocatedAttr,
                      IntegerAttr::get(IntegerType::get(&getContext(), 64),
                                       getAllocatedBytes(program, **wanted)));
    copy.erase();
    if (failed(lowered))
      signalPassFailure();
  }
};

} // namespace
