// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WholeStep.h"

#include "Step.h"

#include "dialects/TP/Formulas.h"
#include "dialects/TP/Interface.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tp;

namespace {
/// Moves the program of a micro-batch into a loop over all micro-batches, which
/// computes the weighted mean of their losses.
class WholeLoss {
public:
  WholeLoss(func::FuncOp function, const Selection &selection, int64_t count)
      : function(function), selection(selection), count(count),
        end(function.front().getTerminator()), builder(end),
        emit(builder, function.getLoc()) {}

  void run();

private:
  RankedTensorType stack(RankedTensorType type) {
    SmallVector<int64_t> shape(type.getShape());
    shape.insert(shape.begin(), count);
    return type.clone(shape);
  }
  Value zeros(RankedTensorType type) { return emit.constant(0, type); }
  /// `value`, excluded from differentiation.
  Value fix(Value value) {
    return StopGradientOp::create(builder, value.getLoc(), value.getType(),
                                  value);
  }
  /// The weight of the micro-batch, in the type of the loss.
  Value getWeight(ValueRange results);
  /// Maps each argument of the function to its value in iteration `turn` of the
  /// loop. `states` are the values from the previous iteration, by argument.
  void mapArguments(Value turn, const DenseMap<unsigned, Value> &states,
                    IRMapping &inside);
  /// Writes `own` as the part of `all` that belongs to iteration `turn`.
  Value put(Value own, Value all, Value turn);
  SmallVector<Value> getPlace(Value turn, int64_t rank) {
    SmallVector<Value> place(rank, emit.constant(0, turn));
    place[0] = turn;
    return place;
  }

  func::FuncOp function;
  const Selection &selection;
  int64_t count;
  Operation *end;
  OpBuilder builder;
  Formulas emit;
};
} // namespace

Value WholeLoss::getWeight(ValueRange results) {
  Value loss = results[selection.loss];
  if (!selection.weight)
    return emit.constant(1, loss);
  Value weight =
      emit.convert(results[*selection.weight], typeOf(loss).getElementType());
  return fix(weight);
}

void WholeLoss::mapArguments(Value turn,
                             const DenseMap<unsigned, Value> &states,
                             IRMapping &inside) {
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    Value own = argument;
    if (Value state = states.lookup(i)) {
      bool isFloat = isa<FloatType>(typeOf(state).getElementType());
      own = isFloat ? fix(state) : state;
    } else if (getRole(function, i) == Role::Input) {
      RankedTensorType type = typeOf(argument);
      SmallVector<int64_t> sizes(type.getShape());
      sizes.front() = 1;
      ArrayRef<int64_t> shape = type.getShape().drop_front();
      own = emit.reshape(
          emit.dynamicSlice(argument, getPlace(turn, sizes.size()), sizes),
          shape);
    }
    inside.map(argument, own);
  }
}

Value WholeLoss::put(Value own, Value all, Value turn) {
  SmallVector<int64_t> shape(typeOf(own).getShape());
  shape.insert(shape.begin(), 1);
  return emit.dynamicUpdate(all, emit.reshape(own, shape),
                            getPlace(turn, shape.size()));
}

void WholeLoss::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : function.front().without_terminator())
    ops.push_back(&op);
  auto results = llvm::to_vector(end->getOperands());
  RankedTensorType lossType = typeOf(results[selection.loss]);
  for (BlockArgument argument : function.getArguments())
    if (getRole(function, argument.getArgNumber()) == Role::Input)
      argument.setType(stack(typeOf(argument)));

  // For each result that is the next value of an argument: that argument.
  DenseMap<unsigned, unsigned> donors;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto donated = function.getArgAttrOfType<IntegerAttr>(i, kDonatedAttr))
      donors[donated.getInt()] = i;
  // The sum of the losses, the sum of their weights, and all results.
  SmallVector<Value> inits = {zeros(lossType), zeros(lossType)};
  for (auto [i, result] : llvm::enumerate(results)) {
    RankedTensorType type = typeOf(result);
    bool isSum = i == selection.loss || selection.weight == i;
    auto donor = donors.find(i);
    inits.push_back(donor != donors.end()
                        ? Value(function.getArgument(donor->second))
                        : zeros(isSum ? type : stack(type)));
  }
  auto types = llvm::to_vector(ValueRange(inits).getTypes());
  auto loop = ForOp::create(builder, function.getLoc(), types, count, inits);
  Block &body = loop.getBody().emplaceBlock();
  Value turn = body.addArgument(RankedTensorType::get({}, builder.getI32Type()),
                                function.getLoc());
  for (Type type : types)
    body.addArgument(type, function.getLoc());
  auto carried = body.getArguments().drop_front(3);
  builder.setInsertionPointToEnd(&body);

  DenseMap<unsigned, Value> states;
  for (auto [result, argument] : donors)
    states[argument] = carried[result];
  IRMapping inside;
  mapArguments(turn, states, inside);
  for (Operation *op : ops)
    builder.clone(*op, inside);
  auto own = llvm::map_to_vector(
      results, [&](Value value) { return inside.lookup(value); });
  Value weight = getWeight(own);
  SmallVector<Value> yields = {
      emit.add(body.getArgument(1), emit.mul(own[selection.loss], weight)),
      emit.add(body.getArgument(2), weight)};
  for (auto [i, value] : llvm::enumerate(own)) {
    if (donors.contains(i) || i == selection.loss)
      yields.push_back(i == selection.loss ? carried[i] : value);
    else if (selection.weight == i)
      yields.push_back(emit.add(carried[i], value));
    else
      yields.push_back(put(value, carried[i], turn));
  }
  YieldOp::create(builder, function.getLoc(), yields);

  builder.setInsertionPoint(end);
  end->setOperands(loop.getResults().drop_front(2));
  end->setOperand(selection.loss,
                  emit.div(loop.getResult(0), loop.getResult(1)));
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.front().getArgumentTypes(),
      end->getOperandTypes()));
}

LogicalResult tp::buildWholeStep(func::FuncOp function, const Recipe &recipe,
                                 const Selection &selection) {
  WholeLoss(function, selection, recipe.accumulate).run();
  FailureOr<SmallVector<Value>> gradients = buildGradients(function, selection);
  return failed(gradients) ? failure()
                           : buildStep(function, recipe, selection, *gradients);
}
