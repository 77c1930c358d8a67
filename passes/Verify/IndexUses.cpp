// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "IndexUses.h"

#include "tpopt/Dialect/SPMD/RegionFlow.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

std::optional<AddressedDim> tp::getAddressedDim(OpOperand &use) {
  using Dim = std::optional<AddressedDim>;
  unsigned number = use.getOperandNumber();
  auto getSize = [](Value value, int64_t dim) {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim);
  };
  auto whole = [&](Value value, int64_t dim) {
    int64_t size = getSize(value, dim);
    return Dim({size, size - 1});
  };
  auto part = [&](Value value, Value part, int64_t dim) {
    int64_t size = getSize(value, dim);
    return Dim({size, size - getSize(part, dim)});
  };
  return llvm::TypeSwitch<Operation *, Dim>(use.getOwner())
      .Case<GatherOp, ScatterOp>([&](auto op) {
        return number == 1 ? whole(op.getInput(), op.getAxis()) : Dim();
      })
      .Case([&](EmbeddingOp op) { return whole(op.getTable(), 0); })
      .Case([&](CrossEntropyOp op) {
        auto logits = cast<RankedTensorType>(op.getLogits().getType());
        return whole(op.getLogits(), logits.getRank() - 1);
      })
      .Case([&](DynamicSliceOp op) {
        return number >= 1 ? part(op.getInput(), op.getResult(), number - 1)
                           : Dim();
      })
      .Case([&](DynamicUpdateSliceOp op) {
        return number >= 2 ? part(op.getInput(), op.getUpdate(), number - 2)
                           : Dim();
      })
      .Case([&](AttentionOpInterface op) {
        return isBoolTensor(use.get().getType()) ? Dim()
                                                 : whole(op.getKey(), 1);
      })
      .Case([&](spmd::RegionFlowOpInterface op) {
        int64_t count = op->getNumRegions();
        return op.getBranchIndex() == &use ? Dim({count, count - 1}) : Dim();
      })
      .Default(Dim());
}

/// Adds every value that receives the elements of this operand, or that
/// contains integers computed from them.
static void addAliases(OpOperand &use, SetVector<Value> &values) {
  Operation *op = use.getOwner();
  if (std::optional<spmd::Channel> channel = spmd::getChannel(use)) {
    values.insert_range(channel->getTargets());
  } else if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        op, call.getCalleeAttr());
    if (callee && !callee.isExternal())
      values.insert(callee.getArgument(use.getOperandNumber()));
  } else {
    for (Value result : op->getResults())
      if (isIntegerTensor(result.getType()) && !isBoolTensor(result.getType()))
        values.insert(result);
  }
}

SmallVector<OpOperand *> tp::findIndexUses(Value value) {
  SmallVector<OpOperand *> uses;
  SetVector<Value> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses()) {
      if (getAddressedDim(use))
        uses.push_back(&use);
      else
        addAliases(use, values);
    }
  return uses;
}

std::optional<int64_t> tp::getIndexedExtent(Value value) {
  std::optional<int64_t> extent;
  for (OpOperand *use : findIndexUses(value))
    extent = std::max(extent.value_or(1), getAddressedDim(*use)->extent);
  return extent;
}
