// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Adds alternatives to steps, for the runtime to time on its device.

#include "Lowering.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// With a weight of fewer elements, a product takes no longer than a launch,
/// regardless of the kernel.
static constexpr int64_t kMinWeight = 1 << 14;

/// Returns true if the kernel for few rows may be faster. That kernel uses
/// 32-bit indices.
static bool mayGain(step::MatmulOp op) {
  ArrayRef<int64_t> b = step::bufferTypeOf(op.getB()).getShape();
  int64_t k = b[step::kNumBatchDims], n = b.back();
  return step::isSkinny(op) && k * n >= kMinWeight &&
         std::max(k, n) <= INT32_MAX;
}

void tp::offerChoices(step::ProgramOp program, const Target &target) {
  if (!target.choosesSteps())
    return;
  program.walk([](step::MatmulOp op) {
    if (!mayGain(op))
      return;
    OpBuilder builder(op);
    auto choice = step::ChooseOp::create(builder, op.getLoc());
    op->moveBefore(&choice.getFirst().emplaceBlock(),
                   choice.getFirst().front().end());
    builder.setInsertionPointToStart(&choice.getSecond().emplaceBlock());
    step::SkinnyMatmulOp::create(builder, op.getLoc(), op.getA(), op.getB(),
                                 op.getPostOperands(), op.getC(),
                                 op.getPostOps());
  });
}
