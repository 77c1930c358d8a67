// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Accumulation.h"

#include "dialects/TP/Interface.h"

using namespace mlir;
using namespace tp;

FloatType tp::getStateElement(Value parameter) {
  Type element = typeOf(parameter).getElementType();
  return element.isF64() ? cast<FloatType>(element)
                         : FloatType(Float32Type::get(parameter.getContext()));
}

/// `type` with one more dimension, of size `count`, in front.
static RankedTensorType stack(RankedTensorType type, int64_t count) {
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), count);
  return type.clone(shape);
}

/// The sharding of a stack of tensors that each have the sharding `attribute`.
static spmd::ShardingAttr stack(spmd::ShardingAttr attribute) {
  MLIRContext *context = attribute.getContext();
  SmallVector<spmd::DimShardingAttr> dims(attribute.getDims());
  dims.insert(dims.begin(),
              spmd::DimShardingAttr::get(context, {}, /*open=*/false,
                                         /*priority=*/-1));
  return spmd::ShardingAttr::get(context, attribute.getMesh(), dims,
                                 attribute.getReplicated(),
                                 attribute.getUnreduced(), attribute.getKind());
}

namespace {
class Accumulator {
public:
  Accumulator(func::FuncOp function, const Selection &selection, int64_t count,
              MutableArrayRef<Value> gradients)
      : function(function), selection(selection), count(count),
        gradients(gradients), end(function.front().getTerminator()),
        builder(end), emit(builder, function.getLoc()) {}

  void run();

private:
  /// Adds a value that the loop passes from one micro-batch to the next,
  /// beginning with `init`. Inside the loop, `next` computes the value to pass
  /// on from the value received. Returns the number of the value.
  using Next = std::function<Value(Value)>;
  unsigned carry(Value init, Next next) {
    inits.push_back(init);
    nexts.push_back(std::move(next));
    return inits.size() - 1;
  }
  Value zeros(RankedTensorType type) { return emit.constant(0, type); }

  void carryGradients();
  void carryLoss();
  void carryStates();
  void carryResults();
  /// Creates the loop and moves all ops up to `last` into it.
  void makeLoop(Operation *last);
  void sliceInputs();
  /// Returns the indices at which the current micro-batch begins in a stack of
  /// rank `rank`.
  SmallVector<Value> getStarts(int64_t rank);
  /// Returns `value` times the weight of the micro-batch if the mean is
  /// weighted; otherwise returns `value`.
  Value weigh(Value value);

  func::FuncOp function;
  const Selection &selection;
  int64_t count;
  MutableArrayRef<Value> gradients;
  Operation *end;
  OpBuilder builder;
  Formulas emit;
  SmallVector<Value> inits;
  SmallVector<Next> nexts;
  ForOp loop;
  Value counter;
  /// Pairs of numbers: a result of the function, and the carried value that
  /// becomes that result.
  SmallVector<std::pair<unsigned, unsigned>> results;
};
} // namespace

SmallVector<Value> Accumulator::getStarts(int64_t rank) {
  Value zero = emit.constant(0, counter);
  SmallVector<Value> starts(rank, zero);
  starts[0] = counter;
  return starts;
}

Value Accumulator::weigh(Value value) {
  if (!selection.weight)
    return value;
  Type element = typeOf(value).getElementType();
  return emit.scale(value,
                    emit.convert(end->getOperand(*selection.weight), element));
}

void Accumulator::carryGradients() {
  // Make the gradients operands of the terminator, so that they stay up to date
  // when values in the body are replaced.
  end->insertOperands(function.getNumResults(), gradients);
  for (auto [i, gradient] : llvm::enumerate(gradients)) {
    FloatType element = getStateElement(gradient);
    unsigned operand = function.getNumResults() + i;
    carry(zeros(typeOf(gradient).clone(element)),
          [this, operand, element](Value sum) {
            Value own = emit.convert(end->getOperand(operand), element);
            return emit.add(sum, weigh(own));
          });
  }
}

void Accumulator::carryLoss() {
  Value loss = end->getOperand(selection.loss);
  results.emplace_back(
      selection.loss, carry(zeros(typeOf(loss)), [this](Value sum) {
        return emit.add(sum, weigh(end->getOperand(selection.loss)));
      }));
  if (!selection.weight)
    return;
  unsigned weight = *selection.weight;
  results.emplace_back(
      weight,
      carry(zeros(typeOf(end->getOperand(weight))), [this, weight](Value sum) {
        return emit.add(sum, end->getOperand(weight));
      }));
}

void Accumulator::carryStates() {
  for (BlockArgument argument : function.getArguments()) {
    auto donated = function.getArgAttrOfType<IntegerAttr>(
        argument.getArgNumber(), kDonatedAttr);
    if (!donated)
      continue;
    unsigned result = donated.getInt();
    Next next = [this, own = Value(argument), result](Value state) mutable {
      own.replaceUsesWithIf(
          state, [&](OpOperand &use) { return use.getOwner() != loop; });
      return end->getOperand(result);
    };
    results.emplace_back(result, carry(argument, std::move(next)));
  }
}

void Accumulator::carryResults() {
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (llvm::any_of(results, [&](auto &entry) { return entry.first == i; }))
      continue;
    auto type = stack(typeOf(end->getOperand(i)), count);
    if (auto sharding = function.getResultAttrOfType<spmd::ShardingAttr>(
            i, spmd::kShardingAttr))
      function.setResultAttr(i, spmd::kShardingAttr, stack(sharding));
    results.emplace_back(i, carry(zeros(type), [this, i](Value all) {
                           Value own = end->getOperand(i);
                           SmallVector<int64_t> shape(typeOf(own).getShape());
                           shape.insert(shape.begin(), 1);
                           return DynamicUpdateSliceOp::create(
                               builder, function.getLoc(), all.getType(), all,
                               emit.reshape(own, shape),
                               getStarts(shape.size()));
                         }));
  }
}

void Accumulator::sliceInputs() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (getRole(function, i) != Role::Input)
      continue;
    RankedTensorType type = typeOf(argument);
    argument.setType(stack(type, count));
    function.setArgAttr(i, kMicroBatchesAttr, builder.getUnitAttr());
    if (auto sharding = function.getArgAttrOfType<spmd::ShardingAttr>(
            i, spmd::kShardingAttr))
      function.setArgAttr(i, spmd::kShardingAttr, stack(sharding));
    if (argument.use_empty())
      continue;
    Operation *slice =
        DynamicSliceOp::create(builder, argument.getLoc(), stack(type, 1),
                               argument, getStarts(type.getRank() + 1));
    Value own = emit.reshape(slice->getResult(0), type.getShape());
    argument.replaceAllUsesExcept(own, slice);
  }
}

void Accumulator::makeLoop(Operation *last) {
  Block &block = function.front();
  auto types = llvm::to_vector(ValueRange(inits).getTypes());
  loop = ForOp::create(builder, function.getLoc(), types, count, inits);
  Block &body = loop.getBody().emplaceBlock();
  auto i32 = RankedTensorType::get({}, builder.getI32Type());
  counter = body.addArgument(i32, function.getLoc());
  for (Type type : types)
    body.addArgument(type, function.getLoc());
  if (last)
    body.getOperations().splice(body.end(), block.getOperations(),
                                block.begin(), std::next(last->getIterator()));
  builder.setInsertionPointToStart(&body);
  sliceInputs();
  builder.setInsertionPointToEnd(&body);
  // Donated arguments come first. The `next` of a donated argument replaces its
  // uses, including those that a later `next` reads.
  SmallVector<Value> yields;
  for (auto [argument, next] :
       llvm::zip_equal(body.getArguments().drop_front(), nexts))
    yields.push_back(next(argument));
  YieldOp::create(builder, function.getLoc(), yields);
}

void Accumulator::run() {
  Operation *last = end->getPrevNode();
  carryStates();
  unsigned firstGradient = inits.size();
  carryGradients();
  carryLoss();
  carryResults();
  makeLoop(last);

  builder.setInsertionPoint(end);
  end->eraseOperands(function.getNumResults(), gradients.size());
  for (auto [result, carried] : results)
    end->setOperand(result, loop.getResult(carried));
  Value loss = end->getOperand(selection.loss);
  auto getMean = [&](Value sum) {
    if (!selection.weight)
      return emit.scale(sum, 1.0 / double(count));
    RankedTensorType type = typeOf(sum);
    Value total =
        emit.convert(end->getOperand(*selection.weight), type.getElementType());
    return emit.div(sum, emit.splat(total, type.getShape()));
  };
  end->setOperand(selection.loss, getMean(loss));
  for (auto [i, gradient] : llvm::enumerate(gradients))
    gradient = getMean(loop.getResult(firstGradient + i));
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.front().getArgumentTypes(),
      end->getOperandTypes()));
}

void tp::accumulate(func::FuncOp function, const Selection &selection,
                    int64_t count, MutableArrayRef<Value> gradients) {
  Accumulator(function, selection, count, gradients).run();
}
