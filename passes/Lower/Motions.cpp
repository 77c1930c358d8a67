// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds dynamic slices and updates whose start advances by the same distance in
// every iteration of a loop, so that views can take their place. A scan over
// layers reads layer i of every stacked weight, and the backward pass reads and
// writes layer n - 1 - i. JAX writes these indices with comparisons that wrap
// negative ones around. So the expressions are not matched but evaluated for
// every iteration.

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

/// The motion of the part of `whole` that begins at `starts`. If the part does
/// not move, `loop` is null. None if a start is only known at run time.
static std::optional<Motion>
findMotion(OperandRange starts, RankedTensorType whole, RankedTensorType part) {
  Motion motion;
  for (auto [dim, start] : llvm::enumerate(starts)) {
    int64_t last = whole.getDimSize(dim) - part.getDimSize(dim);
    std::optional<std::pair<int64_t, int64_t>> progression;
    TurnFunction function(start);
    bool isUnsigned = cast<RankedTensorType>(start.getType())
                          .getElementType()
                          .isUnsignedInteger();
    if (last == 0)
      progression = {0, 0};
    else if (function.isKnown && !isUnsigned &&
             (!function.loop || !motion.loop || function.loop == motion.loop))
      progression = getProgression(function, last);
    if (!progression)
      return std::nullopt;
    if (progression->second != 0)
      motion.loop = function.loop;
    motion.starts.push_back(progression->first);
    motion.moves.push_back(progression->second);
  }
  return motion;
}

static void setMotion(Operation *op, const Motion &motion) {
  SmallVector<int64_t> numbers(motion.starts);
  llvm::append_range(numbers, motion.moves);
  op->setAttr(kMotionAttr, Builder(op).getDenseI64ArrayAttr(numbers));
}

void tp::findMotions(Block &block) {
  for (auto op : llvm::make_early_inc_range(block.getOps<DynamicSliceOp>())) {
    std::optional<Motion> motion =
        findMotion(op.getStarts(), typeOf(op.getInput()), op.getType());
    if (!motion)
      continue;
    // A view whose offset advances with a loop needs aligned slices. Slices of
    // transposed or broadcast tensors rarely are.
    Operation *producer = op.getInput().getDefiningOp();
    if (!motion->loop) {
      OpBuilder builder(op);
      SmallVector<int64_t> strides(motion->starts.size(), 1);
      auto slice = SliceOp::create(builder, op.getLoc(), op.getType(),
                                   op.getInput(), motion->starts, strides);
      op.replaceAllUsesWith(slice.getResult());
      op.erase();
    } else if (!producer || !isa<TransposeOp, BroadcastOp>(producer)) {
      setMotion(op, *motion);
    }
  }
  for (auto op : block.getOps<DynamicUpdateSliceOp>()) {
    // A kernel that also reads the tensor must not write to a view of it.
    if (!op.getInput().hasOneUse())
      continue;
    std::optional<Motion> motion =
        findMotion(op.getStarts(), op.getType(), typeOf(op.getUpdate()));
    if (motion && motion->loop)
      setMotion(op, *motion);
  }
}

static std::optional<Motion> readMotion(Operation *op, OperandRange starts) {
  auto attr = op->getAttrOfType<DenseI64ArrayAttr>(kMotionAttr);
  if (!attr)
    return std::nullopt;
  size_t rank = attr.size() / 2;
  Motion motion;
  motion.starts.assign(attr.asArrayRef().begin(),
                       attr.asArrayRef().begin() + rank);
  motion.moves.assign(attr.asArrayRef().begin() + rank,
                      attr.asArrayRef().end());
  for (auto [start, move] : llvm::zip(starts, motion.moves))
    if (move != 0)
      motion.loop = TurnFunction(start).loop;
  return motion;
}

std::optional<Motion> tp::getMotion(DynamicSliceOp op) {
  return readMotion(op, op.getStarts());
}

std::optional<Motion> tp::getMotion(DynamicUpdateSliceOp op) {
  return readMotion(op, op.getStarts());
}
