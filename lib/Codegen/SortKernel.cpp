// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sorts on a GPU: an element's place is how many others stand before it, where
// of equal ones the first does. A thread counts for one element; at any time
// all threads of a warp compare with the same other one, which is one access.
//
// That is n^2 comparisons for a row of n, without an exchange between threads:
// a top_k over a vocabulary of 128K takes some 16 billion, which is a
// millisecond of the GPUs at hand.

#include "GpuFunction.h"
#include "IndexedKernels.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tp;

static constexpr int64_t kBlock = 128; ///< Threads.

namespace {

class Order {
public:
  Order(OpBuilder &builder, step::SortOp op)
      : builder(builder), loc(op.getLoc()),
        element(cast<MemRefType>(op.getSource().getType()).getElementType()),
        isDescending(op.getDescending()) {}

  /// What elements are compared as.
  Value getKey(Value raw) {
    if (!element.isF16() && !element.isBF16())
      return raw;
    return arith::ExtFOp::create(builder, loc, builder.getF32Type(), raw);
  }
  /// Whether key `a` comes before `b`, which is not said of equal ones.
  Value isBefore(Value a, Value b) {
    return isDescending ? isLess(b, a) : isLess(a, b);
  }

private:
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  /// What is not a number is above all numbers.
  Value isLess(Value a, Value b) {
    if (!isa<FloatType>(element)) {
      bool isUnsigned = element.isInteger(1) || element.isUnsignedInteger();
      return arith::CmpIOp::create(builder, loc,
                                   isUnsigned ? arith::CmpIPredicate::ult
                                              : arith::CmpIPredicate::slt,
                                   a, b);
    }
    using Predicate = arith::CmpFPredicate;
    Value isAbove =
        arith::AndIOp::create(builder, loc, compare(Predicate::UNO, b, b),
                              compare(Predicate::ORD, a, a));
    return arith::OrIOp::create(builder, loc, compare(Predicate::OLT, a, b),
                                isAbove);
  }

  OpBuilder &builder;
  Location loc;
  Type element;
  bool isDescending;
};

} // namespace

FailureOr<Launch> tp::emitSortForGpu(OpBuilder &builder, step::SortOp op,
                                     StringRef name) {
  Location loc = op.getLoc();
  auto source = cast<MemRefType>(op.getSource().getType()),
       values = cast<MemRefType>(op.getValues().getType()),
       indices = cast<MemRefType>(op.getIndices().getType());
  int64_t rows = source.getDimSize(0), columns = source.getDimSize(1);
  FailureOr<Launch> launch = getLaunch(op, rows * columns, kBlock, kBlock);
  if (failed(launch))
    return failure();
  gpu::GPUFuncOp function = createGpuFunction(builder, op, name, kBlock);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  Places places(builder, loc);
  Order order(builder, op);
  Value thread = getGlobalThread(builder, loc, kBlock);
  auto isThere = scf::IfOp::create(
      builder, loc, places.isBelow(thread, places.number(rows * columns)));
  builder.setInsertionPointToStart(&isThere.getThenRegion().front());
  SmallVector<Value> mine = places.split(thread, {rows, columns});
  Type stored = getStoredType(source.getElementType());
  auto load = [&](Value column) {
    return places.load(
        stored, function.getArgument(0),
        places.getOffset({mine[0], column}, step::Strides(source).strides));
  };
  Value raw = load(mine[1]), key = order.getKey(raw);
  Value zero = places.number(0), one = places.number(1);
  auto loop = scf::ForOp::create(builder, loc, zero, places.number(columns),
                                 one, ValueRange(zero));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value other = loop.getInductionVar(), otherKey = order.getKey(load(other));
    // One in front stands before it unless it is the other way round.
    Value isBehind = order.isBefore(key, otherKey);
    Value yes =
        arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    Value stands = arith::SelectOp::create(
        builder, loc, places.isBelow(other, mine[1]),
        arith::XOrIOp::create(builder, loc, isBehind, yes),
        order.isBefore(otherKey, key));
    Value count = arith::AddIOp::create(
        builder, loc, loop.getRegionIterArgs().front(),
        arith::ExtUIOp::create(builder, loc, builder.getI64Type(), stands));
    scf::YieldOp::create(builder, loc, count);
  }
  Value rank = loop.getResult(0);
  auto isKept = scf::IfOp::create(
      builder, loc, places.isBelow(rank, places.number(values.getDimSize(1))));
  builder.setInsertionPointToStart(&isKept.getThenRegion().front());
  places.store(
      raw, function.getArgument(1),
      places.getOffset({mine[0], rank}, step::Strides(values).strides));
  Value column =
      arith::TruncIOp::create(builder, loc, builder.getI32Type(), mine[1]);
  places.store(
      column, function.getArgument(2),
      places.getOffset({mine[0], rank}, step::Strides(indices).strides));
  return *launch;
}
