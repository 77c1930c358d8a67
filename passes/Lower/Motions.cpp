// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds dynamic slices that need not move data: those whose start advances by
// the same distance in every iteration of a loop. A scan over layers reads
// layer i of every stacked weight, and the backward pass layer n - 1 - i. JAX
// writes these indices with comparisons that wrap negative ones around. So the
// expressions are not matched but evaluated for every iteration.

#include "LegalizeForStep.h"

#include "lib/Interpreter/DenseEvaluator.h"
#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;
using namespace tp::interp;
using namespace tp::spmd;

namespace {

/// Loops with more iterations are not evaluated and keep dynamic slices.
constexpr int64_t kMaxTurns = 1024;

/// A scalar as a function of one loop's iteration number.
class TurnFunction {
public:
  explicit TurnFunction(Value value) : value(value) {
    isKnown = addLeaves(value, /*height=*/8);
  }

  bool isKnown = false;
  RegionFlowOpInterface loop; ///< Null for constants.

  std::optional<int64_t> evaluate(int64_t turn) {
    FailureOr<TensorValue> result = get(value, turn);
    if (failed(result))
      return std::nullopt;
    return evaluator.getIntegers(*result)[0];
  }

private:
  bool addLeaves(Value value, unsigned height) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() != 0 || height == 0)
      return false;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto owner =
          dyn_cast<RegionFlowOpInterface>(argument.getOwner()->getParentOp());
      if (!isCounter(argument) || (loop && loop != owner))
        return false;
      loop = owner;
      return true;
    }
    Operation *op = value.getDefiningOp();
    return isa<ConstantOp, EvaluateOpInterface>(op) && isPure(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             return addLeaves(operand, height - 1);
           });
  }

  FailureOr<TensorValue> get(Value value, int64_t turn) {
    if (isa<BlockArgument>(value))
      return makeIntegerTensor(cast<RankedTensorType>(value.getType()),
                               ArrayRef<int64_t>(turn));
    Operation *op = value.getDefiningOp();
    SmallVector<TensorValue> operands;
    for (Value operand : op->getOperands()) {
      FailureOr<TensorValue> known = get(operand, turn);
      if (failed(known))
        return failure();
      operands.push_back(*known);
    }
    auto results = cast<EvaluateOpInterface>(op).evaluate(evaluator, operands);
    if (failed(results))
      return failure();
    return results->front();
  }

  Value value;
  DoubleEvaluator evaluator{Rounding::ToElementType};
};

} // namespace

/// The start of a slice in the first iteration, clamped to 0 .. `last`, and the
/// distance by which it advances in each iteration. None if the start is not
/// known at compile time, or if the distance varies.
static std::optional<std::pair<int64_t, int64_t>>
getProgression(TurnFunction &function, int64_t last) {
  int64_t count = function.loop ? *function.loop.getTripCount() : 1;
  if (count > kMaxTurns)
    return std::nullopt;
  std::optional<std::pair<int64_t, int64_t>> result;
  for (int64_t turn = 0; turn < std::max<int64_t>(count, 1); ++turn) {
    std::optional<int64_t> value = function.evaluate(turn);
    if (!value)
      return std::nullopt;
    int64_t place = std::clamp<int64_t>(*value, 0, last);
    if (turn == 0)
      result = {place, 0};
    else if (turn == 1)
      result->second = place - result->first;
    else if (place != result->first + turn * result->second)
      return std::nullopt;
  }
  return result;
}

void tp::findMotions(Block &block) {
  for (auto op : llvm::make_early_inc_range(block.getOps<DynamicSliceOp>())) {
    // A view whose offset advances with a loop needs aligned slices. Slices of
    // transposed or broadcast tensors rarely are.
    Operation *producer = op.getInput().getDefiningOp();
    ArrayRef<int64_t> whole =
        cast<RankedTensorType>(op.getInput().getType()).getShape();
    RegionFlowOpInterface loop;
    SmallVector<int64_t> motion, moves;
    for (auto [dim, start] : llvm::enumerate(op.getStarts())) {
      int64_t last = whole[dim] - op.getType().getDimSize(dim);
      std::optional<std::pair<int64_t, int64_t>> progression;
      TurnFunction function(start);
      bool isUnsigned = cast<RankedTensorType>(start.getType())
                            .getElementType()
                            .isUnsignedInteger();
      if (last == 0)
        progression = {0, 0};
      else if (function.isKnown && !isUnsigned &&
               (!function.loop || !loop || function.loop == loop))
        progression = getProgression(function, last);
      if (!progression)
        break;
      if (progression->second != 0)
        loop = function.loop;
      motion.push_back(progression->first);
      moves.push_back(progression->second);
    }
    if (motion.size() != whole.size())
      continue;
    OpBuilder builder(op);
    if (!loop) {
      SmallVector<int64_t> strides(whole.size(), 1);
      auto slice = SliceOp::create(builder, op.getLoc(), op.getType(),
                                   op.getInput(), motion, strides);
      op.replaceAllUsesWith(slice.getResult());
      op.erase();
    } else if (!producer || !isa<TransposeOp, BroadcastOp>(producer)) {
      motion.append(moves);
      op->setAttr(kMotionAttr, builder.getDenseI64ArrayAttr(motion));
    }
  }
}

std::optional<Motion> tp::getMotion(DynamicSliceOp op) {
  auto attr = op->getAttrOfType<DenseI64ArrayAttr>(kMotionAttr);
  if (!attr)
    return std::nullopt;
  size_t rank = attr.size() / 2;
  Motion motion;
  motion.starts.assign(attr.asArrayRef().begin(),
                       attr.asArrayRef().begin() + rank);
  motion.moves.assign(attr.asArrayRef().begin() + rank,
                      attr.asArrayRef().end());
  for (auto [start, move] : llvm::zip(op.getStarts(), motion.moves))
    if (move != 0)
      motion.loop = TurnFunction(start).loop;
  return motion;
}
