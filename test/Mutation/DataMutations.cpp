// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Damage that shows on some data only: where padding meets an op, where an
// index lies, and where numbers overflow.

#include "Mutations.h"

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

/// Whether `value` is computed from positions alone, by a comparison: a mask.
/// Scalars are positions, too.
static bool isMask(Value value) {
  bool compares = false;
  SmallVector<Value> worklist = {value};
  for (unsigned steps = 0; !worklist.empty(); ++steps) {
    Value next = worklist.pop_back_val();
    Operation *op = next.getDefiningOp();
    auto type = dyn_cast<RankedTensorType>(next.getType());
    if (!op && type && type.getRank() == 0)
      continue;
    if (!op || steps > 64)
      return false;
    compares |= isa<CompareOp>(op);
    llvm::append_range(worklist, op->getOperands());
  }
  return compares;
}

static bool replaceBy(Operation *op, Value value) {
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
  return true;
}

static bool dropSelectMask(Operation *op, Random &random) {
  auto select = dyn_cast<SelectOp>(op);
  if (!select || !isMask(select->getOperand(0)))
    return false;
  return replaceBy(op, select->getOperand(1 + random.below(2)));
}

static bool dropZeroMask(Operation *op, Random &) {
  if (!isa<MulOp, AndOp>(op))
    return false;
  for (unsigned side = 0; side < 2; ++side)
    if (isMask(op->getOperand(side)))
      return replaceBy(op, op->getOperand(1 - side));
  return false;
}

static bool dropWrite(Operation *op, Random &) {
  return isa<ScatterOp, DynamicUpdateSliceOp>(op) &&
         replaceBy(op, op->getOperand(0));
}

/// `value` times or plus a constant.
template <typename OpT>
static Value combine(OpBuilder &builder, Value value, double number) {
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  Attribute scalar =
      isa<FloatType>(element)
          ? Attribute(FloatAttr::get(element, number))
          : Attribute(IntegerAttr::get(
                IntegerType::get(element.getContext(),
                                 element.getIntOrFloatBitWidth(),
                                 cast<IntegerType>(element).getSignedness()),
                int64_t(number)));
  Value constant = ConstantOp::create(builder, value.getLoc(), type,
                                      SplatElementsAttr::get(type, scalar));
  return OpT::create(builder, value.getLoc(), type, value, constant);
}

/// An index one to the side.
static bool moveIndex(Operation *op, Random &random) {
  SmallVector<unsigned> indices;
  if (isa<GatherOp, ScatterOp>(op))
    indices = {1};
  else if (isa<DynamicSliceOp, DynamicUpdateSliceOp>(op))
    for (unsigned i = isa<DynamicSliceOp>(op) ? 1 : 2; i < op->getNumOperands();
         ++i)
      indices.push_back(i);
  if (indices.empty())
    return false;
  unsigned index = indices[random.below(indices.size())];
  OpBuilder builder(op);
  op->setOperand(index, combine<AddOp>(builder, op->getOperand(index), 1));
  return true;
}

static bool shiftFurther(Operation *op, Random &random) {
  auto shift = dyn_cast<ShiftOp>(op);
  if (!shift)
    return false;
  shift.setBy(shift.getBy() + (random.below(2) ? 1 : -1));
  return true;
}

/// A neighbour is taken for the mirror image, or the other way around.
static bool mirrorShift(Operation *op, Random &) {
  auto shift = dyn_cast<ShiftOp>(op);
  if (!shift)
    return false;
  shift.setMode(shift.getMode() == "mirror" ? "wrap" : "mirror");
  return true;
}

/// The place of a device, one to the side.
static bool moveDevice(Operation *op, Random &) {
  if (!isa<AxisIndexOp>(op))
    return false;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value moved = combine<AddOp>(builder, op->getResult(0), 1);
  op->getResult(0).replaceAllUsesExcept(moved, moved.getDefiningOp());
  return true;
}

static bool scaleResult(Operation *op, Random &random) {
  if (op->getNumResults() != 1 || isa<ConstantOp>(op))
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !isa<FloatType>(type.getElementType()))
    return false;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value scaled = combine<MulOp>(builder, op->getResult(0),
                                random.pick({2.0, 0.5, -1.0, 1.001}));
  op->getResult(0).replaceAllUsesExcept(scaled, scaled.getDefiningOp());
  return true;
}

/// exp(x - m) becomes exp(x): what divides by the sum gives the same, as long
/// as it does not overflow.
static bool dropShift(Operation *op, Random &) {
  if (auto softmax = dyn_cast<SoftmaxOp>(op)) {
    OpBuilder builder(op);
    SmallVector<Value> results =
        cast<DecomposeOpInterface>(op).decompose(builder);
    op->replaceAllUsesWith(results);
    for (Operation *part = op->getPrevNode(); part; part = part->getPrevNode())
      if (isa<ExpOp>(part)) {
        op->erase();
        op = part;
        break;
      }
  }
  auto exp = dyn_cast<ExpOp>(op);
  auto shifted = exp ? exp->getOperand(0).getDefiningOp<SubOp>() : SubOp();
  if (!shifted)
    return false;
  exp->setOperand(0, shifted.getLhs());
  return true;
}

/// A maximum that shifts an exponential is the one of another line.
static bool shiftByMinimum(Operation *op, Random &) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce || reduce.getKind() != ReductionKind::Max ||
      !isa<FloatType>(
          cast<RankedTensorType>(reduce.getType()).getElementType()))
    return false;
  for (Operation *user : reduce->getUsers())
    if (isa<BroadcastOp, SubOp>(user)) {
      reduce.setKind(ReductionKind::Min);
      return true;
    }
  return false;
}

ArrayRef<Mutation> tp::getDataMutations() {
  static const Mutation mutations[] = {
      {"select mask dropped", true, dropSelectMask},
      {"zero factor dropped", true, dropZeroMask},
      {"write dropped", true, dropWrite},
      {"index moved", true, moveIndex},
      {"shifted further", true, shiftFurther},
      {"neighbour taken for the image", true, mirrorShift},
      {"device taken for the next", true, moveDevice},
      {"factor", true, scaleResult},
      {"exponential not shifted", true, dropShift},
      {"shifted by the minimum", true, shiftByMinimum},
  };
  return mutations;
}
