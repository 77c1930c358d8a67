// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Data parallelism and ZeRO, expressed as shardings of inputs, states,
// gradients and parameters.

#include "DataParallel.h"

#include "dialects/TP/Interface.h"
#include "tpopt/Dialect/SPMD/SPMD.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

std::optional<unsigned> tp::getBatchDim(func::FuncOp function,
                                        unsigned argument) {
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[argument]);
  unsigned dim = function.getArgAttr(argument, kMicroBatchesAttr) ? 1 : 0;
  if (!type || dim >= type.getRank())
    return std::nullopt;
  return dim;
}

static ArrayRef<int64_t> getShape(func::FuncOp function, unsigned argument) {
  return cast<RankedTensorType>(function.getArgumentTypes()[argument])
      .getShape();
}

TensorSharding DataParallel::getSharding(func::FuncOp function,
                                         unsigned argument) const {
  unsigned rank = getShape(function, argument).size();
  auto attribute =
      function.getArgAttrOfType<ShardingAttr>(argument, kShardingAttr);
  if (!attribute)
    return TensorSharding::replicate(rank, /*open=*/true);
  // This cannot fail: the sharding was verified together with the function.
  return std::get<TensorSharding>(attribute.resolve(mesh, rank));
}

TensorSharding DataParallel::getSharding(func::FuncOp function, StringRef name,
                                         ArrayRef<int64_t> shape) const {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (getRole(function, i) == Role::Parameter &&
        getInputName(function, i).getValue() == name &&
        getShape(function, i) == shape)
      return getSharding(function, i);
  return TensorSharding::replicate(shape.size(), /*open=*/true);
}

void DataParallel::setSharding(func::FuncOp function, unsigned argument,
                               const TensorSharding &sharding) const {
  function.setArgAttr(argument, kShardingAttr,
                      ShardingAttr::get(function.getContext(), mesh, sharding));
}

void DataParallel::addAxis(TensorSharding &sharding,
                           ArrayRef<int64_t> shape) const {
  if (sharding.uses(axis))
    return;
  // Prefers a dimension that is not sharded yet, then one with little padding,
  // then a long one, because a short dimension may count heads, which attention
  // would have to gather.
  std::optional<unsigned> best;
  std::tuple<bool, double, int64_t> least;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    const AxisList &axes = sharding.dims[dim].axes;
    BlockLayout blocks{size, getSize(axes) * axis.size};
    std::tuple price(!axes.empty(), double(blocks.block()) * blocks.k / size,
                     -size);
    if (size > 1 && (!best || price < least)) {
      best = dim;
      least = price;
    }
  }
  if (!best)
    return;
  llvm::erase_if(sharding.replicated,
                 [&](const AxisRef &other) { return other.overlaps(axis); });
  sharding.dims[*best].axes.push_back(axis);
}

void DataParallel::cutBatch(func::FuncOp function, unsigned argument) {
  std::optional<unsigned> dim = getBatchDim(function, argument);
  if (!dim)
    return;
  hasBatch = true;
  if (function.getArgAttr(argument, kShardingAttr))
    return;
  auto sharding = TensorSharding::replicate(getShape(function, argument).size(),
                                            /*open=*/true);
  sharding.dims[*dim] = {{axis}, /*open=*/false, /*priority=*/{}};
  setSharding(function, argument, sharding);
}

void DataParallel::keepWhole(func::FuncOp function, unsigned argument) {
  if (function.getArgAttr(argument, kShardingAttr))
    return;
  TensorSharding sharding = getSharding(function, argument);
  sharding.replicated.push_back(axis);
  setSharding(function, argument, sharding);
}

void DataParallel::cut(func::FuncOp function, unsigned argument) {
  ArrayRef<int64_t> shape = getShape(function, argument);
  TensorSharding sharding = getSharding(function, argument);
  // A state that is named after a parameter starts from that parameter's
  // sharding.
  if (!function.getArgAttr(argument, kShardingAttr))
    sharding = getSharding(
        function, getInputName(function, argument).getValue().split('/').second,
        shape);
  addAxis(sharding, shape);
  setSharding(function, argument, sharding);
}

void DataParallel::cutGradients(func::FuncOp function) {
  function.walk([&](Operation *op) {
    auto names = op->getAttrOfType<ArrayAttr>(kGradientAttr);
    if (!names)
      return;
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    for (auto [value, name] :
         llvm::zip_equal(op->getResults(), names.getAsRange<StringAttr>())) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (name.empty() || !type)
        continue;
      hasGradient = true;
      TensorSharding sharding =
          getSharding(function, name.getValue(), type.getShape());
      addAxis(sharding, type.getShape());
      auto constraint = ConstraintOp::create(
          builder, op->getLoc(), type, value,
          ShardingAttr::get(function.getContext(), mesh, sharding));
      value.replaceAllUsesExcept(constraint, constraint);
    }
  });
}

void DataParallel::apply(func::FuncOp function, unsigned argument) {
  bool cutsState = words.zero >= ZeroStage::State;
  bool cutsParameters = words.zero >= ZeroStage::Parameters;
  switch (getRole(function, argument)) {
  case Role::Input:
  case Role::KVCache:
    if (words.cutsBatch)
      cutBatch(function, argument);
    return;
  case Role::OptimizerState:
    hasState |= !getShape(function, argument).empty();
    if (cutsState)
      return cut(function, argument);
    break;
  case Role::Parameter:
    hasParameter = true;
    if (cutsParameters)
      return cut(function, argument);
    break;
  case Role::State:
  case Role::Gradient:
    break;
  }
  if (words.cutsBatch)
    keepWhole(function, argument);
}

void DataParallel::apply(func::FuncOp function) {
  if (function.isExternal())
    return;
  // Parameters come last, because states and gradients start from the shardings
  // that their parameters have without the axis.
  SmallVector<unsigned> parameters, others;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (isa<RankedTensorType>(type))
      (getRole(function, i) == Role::Parameter ? parameters : others)
          .push_back(i);
  for (unsigned argument : others)
    apply(function, argument);
  if (words.zero >= ZeroStage::Gradients)
    cutGradients(function);
  for (unsigned argument : parameters)
    apply(function, argument);
}

LogicalResult DataParallel::checkUses(ModuleOp module) const {
  auto error = [&] {
    return module.emitError() << prefix(ErrorCode::IdlePlanWord);
  };
  if (words.cutsBatch && !hasBatch)
    return error() << "ddp cuts the batch dimension of inputs, but no argument "
                      "of rank 1 or more has the role \"input\"; set tp.role = "
                      "\"input\" on one";
  if (words.cutsBatch && !hasParameter)
    return error()
           << "ddp treats every argument as a batch unless its role says "
              "otherwise, but no argument has the role \"parameter\": give "
              "the parameters tp.role = \"parameter\"";
  if (words.zero == ZeroStage::State && !hasState)
    return error()
           << "zero=1 cuts the state of the optimizer, but no argument of rank "
              "1 or more has the role \"optimizer_state\": write zero=2 or "
              "zero=3, or use a different optimizer with --tp-train";
  if (words.zero == ZeroStage::Gradients && !hasGradient)
    return error() << "zero=2 cuts gradients, but no op of the program is "
                      "marked as computing a gradient (--tp-train adds this "
                      "mark, tp.gradient): write zero=1 or zero=3";
  if (words.zero == ZeroStage::Parameters && !hasParameter)
    return error()
           << "zero=3 and fsdp cut parameters, but no argument has the role "
              "\"parameter\"; give the parameters tp.role = \"parameter\"";
  return success();
}
