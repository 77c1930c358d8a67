// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Measures how much memory the compiled program will allocate, by lowering a
// copy of it. The amount depends on fusion, copies and gaps between buffers, so
// an estimate from the program alone is not accurate.

#include "PlannedTarget.h"

#include "tpopt/Dialect/Step/Step.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Lower/Passes.h"
#include "tpopt/Passes/Schedule/Passes.h"

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

/// Sets attributes of `function`: the bytes that its compiled form, `program`,
/// allocates, and the times that the schedule predicts.
static void record(step::ProgramOp program, Operation *function,
                   const Target &target) {
  Builder builder(function->getContext());
  function->setAttr(kAllocatedAttr, builder.getI64IntegerAttr(
                                        getAllocatedBytes(program, target)));
  if (step::OverlapAttr overlap = program.getOverlapAttr())
    function->setAttr(kOverlapAttr,
                      builder.getDenseI64ArrayAttr(
                          {overlap.getWritten(), overlap.getScheduled(),
                           overlap.getBound(), overlap.getExposed()}));
}

namespace {

struct MeasureMemory : tp::impl::MeasureMemoryPassBase<MeasureMemory> {
  using MeasureMemoryPassBase::MeasureMemoryPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // A pass can run a pipeline only on ops nested in its own op.
    ModuleOp copy = module.clone();
    module.push_back(copy);
    FailureOr<const Target *> wanted = getPlannedTarget(copy, target, fp8);
    if (failed(wanted)) {
      copy.erase();
      return signalPassFailure();
    }
    OpPassManager lower(ModuleOp::getOperationName());
    lower.addPass(createLowerToStepPass({target, fp8}));
    if (overlap) {
      SchedulePassOptions schedule;
      schedule.inFlight = inFlight;
      lower.addPass(createSchedulePass(schedule));
    }
    lower.addNestedPass<step::ProgramOp>(createAssignBuffersPass());
    LogicalResult lowered = success();
    {
      // Remarks are emitted later, when the program itself is lowered.
      ScopedDiagnosticHandler errors(&getContext(), [](Diagnostic &diagnostic) {
        return success(diagnostic.getSeverity() != DiagnosticSeverity::Error);
      });
      lowered = runPipeline(lower, copy);
    }
    if (succeeded(lowered))
      for (auto program : copy.getOps<step::ProgramOp>())
        record(program, module.lookupSymbol(program.getSymName()), **wanted);
    copy.erase();
    if (failed(lowered))
      signalPassFailure();
  }
};

} // namespace
