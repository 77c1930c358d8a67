// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RandomData.h"

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace tp;

namespace {
/// Numbers that are the same with every standard library (splitmix64, by
/// S. Vigna).
struct Random {
  uint64_t state;

  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int64_t draw(int64_t least, int64_t greatest) {
    return least + int64_t(next() % uint64_t(greatest - least + 1));
  }
};
} // namespace

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
static void drawIndices(Random &random, int64_t extent, int64_t first,
                        bool isUnsigned, MutableArrayRef<int64_t> indices) {
  SmallVector<int64_t> order(extent);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = extent - 1; i > 0; --i)
    std::swap(order[i], order[random.draw(0, i)]);
  // The order is that of all trials; what is outside differs.
  random.state += first;
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
    Random random{seed * 1000003 + argument.getArgNumber()};
    auto integer = dyn_cast<IntegerType>(type.getElementType());
    if (!integer) {
      random.state += uint64_t(trial) << 32;
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
      drawIndices(random, *extent, int64_t(trial) * values.size(), isUnsigned,
                  values);
    } else {
      random.state += uint64_t(trial) << 32;
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
