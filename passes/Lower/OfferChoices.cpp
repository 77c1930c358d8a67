// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Other ways to do a step, which a runtime times where the program runs.

#include "Lowering.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// Elements of a weight below which a product takes no longer than a launch,
/// whoever computes it.
static constexpr int64_t kMinWeight = 1 << 14;

/// Whether the kernel for few rows computes this.
static bool isSkinny(step::MatmulOp op) {
  ArrayRef<int64_t> a = op.getA().getType().getShape(),
                    b = op.getB().getType().getShape();
  int64_t rows = a[step::kNumBatchDims], k = b[step::kNumBatchDims],
          n = b.back();
  Type element = op.getA().getType().getElementType();
  auto isKnown = [](Attribute post) {
    step::PostOp kind = cast<step::PostOpAttr>(post).getValue();
    return kind == step::PostOp::Add || kind == step::PostOp::Relu ||
           kind == step::PostOp::GeluTanh;
  };
  return llvm::all_of(b.take_front(step::kNumBatchDims),
                      [](int64_t size) { return size == 1; }) &&
         rows <= step::kMaxSkinnyRows && k * n >= kMinWeight &&
         std::max(k, n) <= INT32_MAX &&
         (element.isF32() || element.isF16() || element.isBF16()) &&
         llvm::all_of(op.getPostOps(), isKnown);
}

void tp::offerChoices(step::ProgramOp program, const Target &target) {
  if (!target.choosesSteps())
    return;
  program.walk([](step::MatmulOp op) {
    if (!isSkinny(op))
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
