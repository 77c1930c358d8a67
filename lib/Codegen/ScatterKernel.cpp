// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scatters on a GPU, without atomics: every element of the destination belongs
// to one thread, which applies its updates in ascending order. For a
// destination [b, o, axis, r], a thread has one b, o and r, and a slice of the
// axis:
//
//     for i in 0 .. count
//       if indices[b, i] is in my slice
//         destination[b, o, indices[b, i], r] op= updates[b, o, i, r]
//
// Neighbouring threads differ in r: they take the same branch, and their
// accesses are contiguous. There are as many slices as are needed to give the
// GPU enough threads: one if rows are long, and one per element of the axis if
// single elements are scattered.

#include "GpuFunction.h"
#include "IndexedKernels.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// Threads per block, and the number of threads that keeps a GPU busy.
static constexpr int64_t kScatterBlock = 128, kEnough = 1 << 17;

Value tp::codegen::combineInOrder(OpBuilder &builder, Location loc,
                                  step::ScatterKind kind, Type element,
                                  Value old, Value update) {
  bool isFloat = isa<FloatType>(element);
  bool isBool = element.isInteger(1);
  bool isUnsigned = isBool || element.isUnsignedInteger();
  // NaN is propagated, as on the CPU.
  auto pick = [&](arith::CmpFPredicate predicate) -> Value {
    Value keeps = arith::CmpFOp::create(builder, loc, predicate, old, update);
    Value isNaN = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO,
                                        old, old);
    return arith::SelectOp::create(
        builder, loc, arith::OrIOp::create(builder, loc, keeps, isNaN), old,
        update);
  };
  switch (kind) {
  case step::ScatterKind::Set:
    return update;
  case step::ScatterKind::Add:
    if (isFloat)
      return arith::AddFOp::create(builder, loc, old, update);
    if (isBool)
      return arith::OrIOp::create(builder, loc, old, update);
    return arith::AddIOp::create(builder, loc, old, update);
  case step::ScatterKind::Mul:
    if (isFloat)
      return arith::MulFOp::create(builder, loc, old, update);
    return arith::MulIOp::create(builder, loc, old, update);
  case step::ScatterKind::Max:
    if (isFloat)
      return pick(arith::CmpFPredicate::OGT);
    if (isUnsigned)
      return arith::MaxUIOp::create(builder, loc, old, update);
    return arith::MaxSIOp::create(builder, loc, old, update);
  case step::ScatterKind::Min:
    if (isFloat)
      return pick(arith::CmpFPredicate::OLT);
    if (isUnsigned)
      return arith::MinUIOp::create(builder, loc, old, update);
    return arith::MinSIOp::create(builder, loc, old, update);
  }
  llvm_unreachable("covered switch");
}

FailureOr<KernelLaunch> tp::codegen::emitScatterForGpu(OpBuilder &builder,
                                                       step::ScatterOp op,
                                                       StringRef name) {
  Location loc = op.getLoc();
  auto updates = cast<MemRefType>(op.getUpdates().getType()),
       indices = cast<MemRefType>(op.getIndices().getType()),
       destination = cast<MemRefType>(op.getDestination().getType());
  ArrayRef<int64_t> sizes = destination.getShape();
  int64_t batch = sizes[0], outer = sizes[1], axis = sizes[2], inner = sizes[3];
  int64_t walkers = batch * outer * inner;
  int64_t slices =
      std::clamp<int64_t>(llvm::divideCeil(kEnough, walkers), 1, axis);
  int64_t size = llvm::divideCeil(axis, slices); // per slice
  slices = llvm::divideCeil(axis, size);
  OpBuilder::InsertionGuard guard(builder);
  FailureOr<ItemKernel> kernel = createItemKernel(
      builder, op, name, {batch, outer, slices, inner}, kScatterBlock);
  if (failed(kernel))
    return failure();
  gpu::GPUFuncOp function = kernel->function;
  BufferOffsets places(builder, loc);
  ArrayRef<Value> mine = kernel->index;
  Value begin = places.scale(mine[2], size);
  auto loop = scf::ForOp::create(builder, loc, places.number(0),
                                 places.number(updates.getDimSize(2)),
                                 places.number(1));
  builder.setInsertionPointToStart(loop.getBody());
  Value i = loop.getInductionVar();
  Value place = places.load(
      builder.getI64Type(), function.getArgument(1),
      places.getOffset({mine[0], i}, step::Strides(indices).strides));
  // The last slice may extend beyond the axis. So check that the index is in
  // the slice and on the axis, with one unsigned comparison each.
  auto isUnder = [&](Value value, int64_t end) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, value,
                                 places.number(end));
  };
  Value inSlice =
      isUnder(arith::SubIOp::create(builder, loc, place, begin), size);
  auto isMine = scf::IfOp::create(
      builder, loc,
      arith::AndIOp::create(builder, loc, inSlice, isUnder(place, axis)));
  builder.setInsertionPointToStart(&isMine.getThenRegion().front());
  Type stored = getStoredType(destination.getElementType());
  Value update = places.load(stored, function.getArgument(0),
                             places.getOffset({mine[0], mine[1], i, mine[3]},
                                              step::Strides(updates).strides));
  Value target = places.getOffset({mine[0], mine[1], place, mine[3]},
                                  step::Strides(destination).strides);
  Value pointer = function.getArgument(2);
  if (op.getKind() != step::ScatterKind::Set)
    update =
        combineInOrder(builder, loc, op.getKind(), destination.getElementType(),
                       places.load(stored, pointer, target), update);
  places.store(update, pointer, target);
  return kernel->launch;
}
