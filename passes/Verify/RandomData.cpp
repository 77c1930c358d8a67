// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RandomData.h"

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "tpopt/Support/Random.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

/// The extent of the dimension that operand `use` of its op addresses.
static std::optional<int64_t> getAddressedExtent(OpOperand &use) {
  using Extent = std::optional<int64_t>;
  unsigned number = use.getOperandNumber();
  auto size = [](Value value, int64_t dim) -> Extent {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim);
  };
  return llvm::TypeSwitch<Operation *, Extent>(use.getOwner())
      .Case<GatherOp, ScatterOp>([&](auto op) {
        return number == 1 ? size(op.getInput(), op.getAxis()) : Extent();
      })
      .Case([&](EmbeddingOp op) { return size(op.getTable(), 0); })
      .Case([&](CrossEntropyOp op) {
        auto logits = cast<RankedTensorType>(op.getLogits().getType());
        return size(op.getLogits(), logits.getRank() - 1);
      })
      .Case([&](DynamicSliceOp op) {
        return number >= 1 ? size(op.getInput(), number - 1) : Extent();
      })
      .Case([&](DynamicUpdateSliceOp op) {
        return number >= 2 ? size(op.getInput(), number - 2) : Extent();
      })
      .Case([&](AttentionOp op) { return size(op.getKey(), 1); })
      .Case([&](CaseOp op) { return Extent(op.getBranches().size()); })
      .Default(Extent());
}

/// Adds the values that the elements of a used value go to, unchanged or as a
/// part of an index.
static void addAliases(OpOperand &use, SetVector<Value> &values) {
  Operation *op = use.getOwner();
  unsigned number = use.getOperandNumber();
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    for (Region *region : loop.getLoopRegions()) {
      unsigned first = region->getNumArguments() - op->getNumOperands();
      values.insert(region->getArgument(first + number));
    }
  } else if (auto manual = dyn_cast<spmd::ManualOp>(op)) {
    values.insert(manual.getBody().getArgument(number));
  } else if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        op, call.getCalleeAttr());
    if (callee && !callee.isExternal())
      values.insert(callee.getArgument(number));
  } else {
    for (Value result : op->getResults())
      if (isIntegerTensor(result.getType()) && !isBoolTensor(result.getType()))
        values.insert(result);
  }
}

std::optional<int64_t> tp::getIndexedExtent(Value value) {
  std::optional<int64_t> extent;
  SetVector<Value> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses()) {
      if (std::optional<int64_t> size = getAddressedExtent(use))
        extent = std::max(extent.value_or(1), *size);
      else
        addAliases(use, values);
    }
  return extent;
}

/// Counts through a permutation of 0..extent-1 from `first` on.
static void drawIndices(uint64_t seed, int64_t extent, int64_t first,
                        bool isUnsigned, MutableArrayRef<int64_t> indices) {
  // The order is that of all trials; what is outside differs.
  SmallVector<int64_t> order = Random(seed).permutation(extent);
  Random random(seed + extent + first);
  for (auto [i, index] : llvm::enumerate(indices)) {
    index = order[(first + int64_t(i)) % extent];
    if (random.draw(0, 7) == 0)
      index =
          !isUnsigned && random.draw(0, 1) ? -1 : extent + random.draw(0, 2);
  }
}

SmallVector<TensorValue> tp::drawArguments(DenseEvaluator &evaluator,
                                           func::FuncOp function, uint64_t seed,
                                           unsigned trial) {
  SmallVector<TensorValue> arguments;
  for (BlockArgument argument : function.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    uint64_t orderSeed = seed * 1000003 + argument.getArgNumber();
    Random random(orderSeed + (uint64_t(trial) << 32));
    auto integer = dyn_cast<IntegerType>(type.getElementType());
    if (!integer) {
      auto tensor = std::make_shared<DenseTensor>(type);
      for (int64_t i = 0; i < tensor->size(); ++i)
        (*tensor)[i] = evaluator.drawFloat(random.next());
      arguments.push_back(tensor);
      continue;
    }
    SmallVector<int64_t> values(type.getNumElements());
    bool isBool = integer.getWidth() == 1, isUnsigned = integer.isUnsigned();
    std::optional<int64_t> extent;
    if (!isBool)
      extent = getIndexedExtent(argument);
    if (extent) {
      drawIndices(orderSeed, *extent, int64_t(trial) * values.size(),
                  isUnsigned, values);
    } else {
      for (int64_t &value : values)
        value = isBool       ? random.draw(0, 1)
                : isUnsigned ? random.draw(0, 8)
                             : random.draw(-4, 4);
    }
    for (int64_t &value : values)
      value = wrapInteger(value, integer);
    arguments.push_back(makeIntegerTensor(type, values));
  }
  return arguments;
}
