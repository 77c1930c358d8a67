// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Step.h"

#include "Accumulation.h"

#include "dialects/TP/Interface.h"
#include "dialects/TP/ReverseMode.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tp;

/// The name of the counter of steps.
static constexpr StringLiteral kCounter = "train.step";
/// The state that holds a copy of the parameter in f32.
static constexpr StringLiteral kMaster = "master";

namespace {
/// Scalars of a step, in one float type.
struct StepScalars {
  Value rate;
  SmallVector<Value> corrections;
};

class StepBuilder {
public:
  StepBuilder(func::FuncOp function, const Recipe &recipe,
              const Selection &selection)
      : function(function), recipe(recipe), selection(selection),
        end(function.front().getTerminator()), builder(end) {}

  LogicalResult build(ArrayRef<Value> ofLoss);

private:
  /// Emits ops that appear as `name` in reports and traces.
  Formulas at(const Twine &name) {
    return Formulas(builder, NameLoc::get(builder.getStringAttr(name)));
  }
  StringRef getName(unsigned argument) {
    return getInputName(function, argument).getValue();
  }
  std::string getStateName(StringRef state, unsigned argument) {
    return (recipe.optimizer->getName() + "." + state + "/" + getName(argument))
        .str();
  }
  /// Returns true if the optimizer keeps a more precise copy of an argument.
  bool hasMaster(unsigned argument) {
    Value parameter = function.getArgument(argument);
    return recipe.master &&
           typeOf(parameter).getElementType() != getStateElement(parameter);
  }
  RankedTensorType getType(unsigned argument) {
    return typeOf(function.getArgument(argument));
  }

  LogicalResult checkNames();
  /// Converts gradients to the type of the states.
  SmallVector<Value> widen(ArrayRef<Value> gradients);
  /// Records, on the op that computes a gradient, the parameter's name.
  void mark(Value gradient, StringRef parameter);
  /// Adds an argument with the role of a state. It is zero before the first
  /// step.
  BlockArgument addState(const Twine &name, RankedTensorType type,
                         spmd::ShardingAttr sharding);
  /// Scales all gradients so that their norm is at most `most`.
  void clip(MutableArrayRef<Value> gradients, double most);
  StepScalars &getScalars(Type element);
  void update(unsigned argument, Value gradient);
  void finish();
  void eraseUnused();

  func::FuncOp function;
  const Recipe &recipe;
  const Selection &selection;
  Operation *end;
  OpBuilder builder;
  BlockArgument counter;
  llvm::MapVector<Type, StepScalars> scalars;
  /// Arguments and their new values.
  SmallVector<std::pair<BlockArgument, Value>> parameters, states;
};
} // namespace

/// Returns the sharding of a tensor that has only the dimensions `dims` of a
/// tensor with the sharding `whole`.
static spmd::ShardingAttr project(spmd::ShardingAttr whole,
                                  ArrayRef<int64_t> dims) {
  if (!whole)
    return {};
  auto kept = llvm::map_to_vector(
      dims, [&](int64_t dim) { return whole.getDims()[dim]; });
  return spmd::ShardingAttr::get(whole.getContext(), whole.getMesh(), kept,
                                 whole.getReplicated(), {}, whole.getKind());
}

LogicalResult StepBuilder::checkNames() {
  llvm::StringSet<> names;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    names.insert(getName(i));
  SmallVector<std::string> added = {kCounter.str()};
  for (unsigned argument : selection.trained) {
    if (hasMaster(argument))
      added.push_back(getStateName(kMaster, argument));
    for (const StateTensor &state :
         recipe.optimizer->getStates(getType(argument).getRank()))
      added.push_back(getStateName(state.name, argument));
  }
  for (StringRef name : added)
    if (names.contains(name))
      return function.emitError()
             << prefix(ErrorCode::AlreadyTrains) << "@" << function.getName()
             << " already has an argument " << name
             << ", a name that the training step needs: rename it, or give a "
                "program that computes only the loss";
  return success();
}

BlockArgument StepBuilder::addState(const Twine &name, RankedTensorType type,
                                    spmd::ShardingAttr sharding) {
  NamedAttrList attributes;
  attributes.set(kNameAttr, builder.getStringAttr(name));
  attributes.set(kRoleAttr,
                 builder.getStringAttr(stringifyRole(Role::OptimizerState)));
  if (sharding)
    attributes.set(spmd::kShardingAttr, sharding);
  unsigned place = function.getNumArguments();
  (void)function.insertArgument(place, type,
                                attributes.getDictionary(builder.getContext()),
                                NameLoc::get(builder.getStringAttr(name)));
  return function.getArgument(place);
}

SmallVector<Value> StepBuilder::widen(ArrayRef<Value> gradients) {
  SmallVector<Value> wide;
  for (auto [argument, gradient] :
       llvm::zip_equal(selection.trained, gradients)) {
    wide.push_back(at("grad(" + getName(argument) + ")")
                       .convert(gradient, getStateElement(gradient)));
    mark(wide.back(), getName(argument));
  }
  return wide;
}

void StepBuilder::mark(Value gradient, StringRef parameter) {
  // A gradient that is an argument of the function has no op to mark.
  auto result = dyn_cast<OpResult>(gradient);
  if (!result)
    return;
  Operation *op = result.getOwner();
  SmallVector<Attribute> names(op->getNumResults(), builder.getStringAttr(""));
  if (auto known = op->getAttrOfType<ArrayAttr>(kGradientAttr))
    names.assign(known.begin(), known.end());
  names[result.getResultNumber()] = builder.getStringAttr(parameter);
  op->setAttr(kGradientAttr, builder.getArrayAttr(names));
}

void StepBuilder::clip(MutableArrayRef<Value> gradients, double most) {
  Formulas emit = at("train.clip");
  bool isDouble = llvm::any_of(gradients, [](Value gradient) {
    return typeOf(gradient).getElementType().isF64();
  });
  Type element = isDouble ? Type(builder.getF64Type()) : builder.getF32Type();
  Value total;
  for (Value gradient : gradients) {
    Value own = emit.convert(emit.sumOfSquares(gradient), element);
    total = total ? emit.add(total, own) : own;
  }
  // The same as in torch.nn.utils.clip_grad_norm_.
  constexpr double kLeastNorm = 1e-6;
  Value norm = emit.add(emit.unary<SqrtOp>(total), kLeastNorm);
  Value factor = emit.min(emit.div(emit.constant(most, norm), norm), 1);
  for (Value &gradient : gradients)
    gradient = emit.scale(
        gradient, emit.convert(factor, typeOf(gradient).getElementType()));
}

StepScalars &StepBuilder::getScalars(Type element) {
  auto [entry, isNew] = scalars.try_emplace(element);
  StepScalars &own = entry->second;
  if (!isNew)
    return own;
  Formulas emit = at("train.schedule");
  Value step = emit.convert(counter, element);
  own.rate = emit.scale(recipe.schedule.getFactor(emit, step),
                        recipe.optimizer->getRate());
  own.corrections =
      recipe.optimizer->getCorrections(emit, own.rate, emit.add(step, 1));
  return own;
}

void StepBuilder::update(unsigned argument, Value gradient) {
  BlockArgument parameter = function.getArgument(argument);
  RankedTensorType type = getType(argument);
  FloatType element = getStateElement(parameter);
  StepScalars &shared = getScalars(element);
  Formulas emit =
      at(recipe.optimizer->getName() + "(" + getName(argument) + ")");
  auto sharding = function.getArgAttrOfType<spmd::ShardingAttr>(
      argument, spmd::kShardingAttr);

  Value old = emit.convert(parameter, element);
  BlockArgument master;
  if (hasMaster(argument)) {
    master = addState(getStateName(kMaster, argument), type.clone(element),
                      sharding);
    // The master copy is zero before the first step, so the first step reads
    // the parameter instead.
    Value isFirst =
        emit.compare(ComparePredicate::EQ, counter, emit.constant(0, counter));
    old = emit.select(emit.splat(isFirst, type.getShape()), old, master);
  }
  SmallVector<BlockArgument> kept;
  for (const StateTensor &state : recipe.optimizer->getStates(type.getRank())) {
    auto shape = llvm::map_to_vector(
        state.dims, [&](int64_t dim) { return type.getDimSize(dim); });
    kept.push_back(addState(getStateName(state.name, argument),
                            RankedTensorType::get(shape, element),
                            project(sharding, state.dims)));
  }
  SmallVector<Value> values(kept.begin(), kept.end());
  Value updated =
      recipe.optimizer->update(emit,
                               {old, gradient, shared.rate, shared.corrections,
                                recipe.decays(getName(argument))},
                               values);
  parameters.emplace_back(parameter,
                          emit.convert(updated, type.getElementType()));
  if (master)
    states.emplace_back(master, updated);
  for (auto [state, value] : llvm::zip_equal(kept, values))
    states.emplace_back(state, value);
}

/// The new parameters and states come first, then the loss, then the other
/// results.
void StepBuilder::finish() {
  SmallVector<Value> values;
  SmallVector<Attribute> attributes;
  auto add = [&](Value value, NamedAttrList list, StringAttr name) {
    list.set(kNameAttr, name);
    values.push_back(value);
    attributes.push_back(list.getDictionary(builder.getContext()));
  };
  SmallVector<std::pair<unsigned, unsigned>> donations;
  for (auto [argument, value] :
       llvm::concat<std::pair<BlockArgument, Value>>(parameters, states)) {
    unsigned i = argument.getArgNumber();
    donations.emplace_back(i, values.size());
    add(value, {}, getInputName(function, i));
  }
  SmallVector<unsigned> order = {selection.loss};
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (i != selection.loss)
      order.push_back(i);
  for (unsigned i : order) {
    for (unsigned j = 0; j < function.getNumArguments(); ++j)
      if (auto donated =
              function.getArgAttrOfType<IntegerAttr>(j, kDonatedAttr);
          donated && donated.getInt() == i)
        donations.emplace_back(j, values.size());
    add(end->getOperand(i), function.getResultAttrDict(i),
        getOutputName(function, i));
  }
  end->setOperands(values);
  function.setFunctionType(FunctionType::get(builder.getContext(),
                                             function.getArgumentTypes(),
                                             ValueRange(values).getTypes()));
  function.setAllResultAttrs(attributes);
  for (auto [argument, result] : donations)
    function.setArgAttr(argument, kDonatedAttr,
                        builder.getI64IntegerAttr(result));
}

/// Erases unused ops: not every optimizer counts steps, and not every gradient
/// is needed.
void StepBuilder::eraseUnused() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

LogicalResult StepBuilder::build(ArrayRef<Value> ofLoss) {
  if (failed(checkNames()))
    return failure();
  SmallVector<Value> gradients = widen(ofLoss);
  if (recipe.clip)
    clip(gradients, *recipe.clip);
  counter =
      addState(kCounter, RankedTensorType::get({}, builder.getI32Type()), {});
  for (auto [argument, gradient] :
       llvm::zip_equal(selection.trained, gradients))
    update(argument, gradient);
  Formulas emit = at(kCounter);
  states.emplace_back(counter, emit.add(counter, 1));
  finish();
  eraseUnused();
  return success();
}

FailureOr<SmallVector<Value>> tp::buildGradients(func::FuncOp function,
                                                 const Selection &selection) {
  auto trained =
      llvm::map_to_vector(selection.trained, [&](unsigned i) -> Value {
        return function.getArgument(i);
      });
  Value loss = function.front().getTerminator()->getOperand(selection.loss);
  return buildGradients(function, loss, trained);
}

LogicalResult tp::buildStep(func::FuncOp function, const Recipe &recipe,
                            const Selection &selection,
                            ArrayRef<Value> gradients) {
  return StepBuilder(function, recipe, selection).build(gradients);
}
