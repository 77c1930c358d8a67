// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Merges the results of attention over different keys of the same rows. Those
// of the parts, each of which a block has computed, are combined here; warps
// with the same rows use merge(), too.

#include "AttentionEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// The number of parts whose sums a warp loads before it computes with them.
/// Loads take long, and a block that combines parts has nothing else to do.
static constexpr int64_t kPartsAtOnce = 32;
/// The number of f32 elements in 16 bytes, the widest access.
static constexpr int64_t kPiece = kAccessBytes / 4;
/// LLVM's name for the synchronization scope of all threads on the GPU.
static constexpr char kDeviceScope[] = "device";

AttentionEmitter::Merged AttentionEmitter::merge(ValueRange maxima,
                                                 ValueRange sums) {
  Value zero = real(0);
  Merged all;
  all.maximum = real(-std::numeric_limits<double>::infinity());
  all.sum = zero;
  for (Value maximum : maxima)
    all.maximum = maxF(all.maximum, maximum);
  for (auto [maximum, sum] : llvm::zip_equal(maxima, sums)) {
    // Without a visible key, the maxima may all be minus infinity.
    Value isSeen = arith::CmpFOp::create(builder, loc,
                                         arith::CmpFPredicate::UNE, sum, zero);
    Value weight = select(isSeen, exp2(subF(maximum, all.maximum)), zero);
    all.weights.push_back(weight);
    all.sum = fma(weight, sum, all.sum);
  }
  return all;
}

/// The counter wraps to 0 at the last part, so that it is ready for the next
/// launch.
///
/// All blocks must see what the others have stored before they counted. In
/// PTX's memory model, the barrier orders the stores of the block before the
/// fence of thread 0, and fence and counter are a release pattern. In the last
/// block, counter and fence are an acquire pattern, and the barrier orders the
/// fence before the loads of all its threads. So ordinary loads are enough, but
/// not ld.global.nc: the buffers of the parts are not marked as read-only. The
/// fences are operations of their own, since LLVM drops the ordering of an
/// atomicrmw for NVPTX.
Value AttentionEmitter::isLastPart() {
  auto fence = [&] {
    LLVM::FenceOp::create(builder, loc, LLVM::AtomicOrdering::acq_rel,
                          kDeviceScope);
  };
  gpu::BarrierOp::create(builder, loc);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        thread, number(0));
  ifTrue(isFirst, [&] {
    fence();
    Value before = LLVM::AtomicRMWOp::create(
        builder, loc, LLVM::AtomicBinOp::uinc_wrap, getRow(counters, firstRow),
        number(shape.parts - 1), LLVM::AtomicOrdering::monotonic, kDeviceScope);
    fence();
    store(before, shared); // the tiles are no longer needed
  });
  gpu::BarrierOp::create(builder, loc);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                               load(i32, shared), number(shape.parts - 1));
}

void AttentionEmitter::combinePiece(Value row, Value piece, int64_t atOnce) {
  auto pair = VectorType::get(2, f32), four = VectorType::get(kPiece, f32);
  Value pairPlace = getPartRow(statistics, row);
  Value sumPlace = locate(getPartRow(partial, row), {{piece, kAccessBytes}});
  SmallVector<Value> maxima, sums, values;
  for (int64_t i = 0; i < shape.parts; ++i) {
    Value both = load(pair, at(pairPlace, i * getStride(statistics, 0)));
    maxima.push_back(vector::ExtractOp::create(builder, loc, both, 0));
    sums.push_back(vector::ExtractOp::create(builder, loc, both, 1));
  }
  auto loadParts = [&](int64_t end) {
    for (int64_t i = values.size(); i < std::min(end, shape.parts); ++i)
      values.push_back(load(four, at(sumPlace, i * getStride(partial, 0))));
  };
  auto repeat = [&](Value value) -> Value {
    return vector::BroadcastOp::create(builder, loc, four, value);
  };
  loadParts(atOnce);
  Merged merged = merge(maxima, sums);
  Value all = repeat(real(0));
  for (int64_t i = 0; i < shape.parts; ++i) {
    if (i % atOnce == 0)
      loadParts(i + atOnce);
    all = fma(repeat(merged.weights[i]), values[i], all);
  }
  Value isEmpty = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                        merged.sum, real(0));
  Value sum = select(isEmpty, real(1), merged.sum);
  Value result = arith::DivFOp::create(builder, loc, all, repeat(sum));
  if (!element.isF32())
    result = arith::TruncFOp::create(builder, loc,
                                     VectorType::get(kPiece, element), result);
  store(result, locate(getRow(output, row), {{piece, kPiece * elementBytes}}));
}

void AttentionEmitter::combineParts() {
  if (!shape.isSplit)
    return;
  ifTrue(isLastPart(), [&] {
    int64_t threads = shape.tiles.warps * kWarp;
    int64_t pieces = shape.valueFeatures / kPiece;
    Value rows =
        min(sub(number(shape.rows), firstRow), number(shape.tiles.getRows()));
    auto loop = scf::ForOp::create(builder, loc, thread, mul(rows, pieces),
                                   number(threads));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value index = loop.getInductionVar();
    combinePiece(add(firstRow, div(index, pieces)), rem(index, pieces),
                 std::max<int64_t>(1, kPartsAtOnce / shape.tiles.warps));
  });
}
