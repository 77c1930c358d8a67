// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads what dimensions of weights are off the ops that use them.

#include "Features.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace tp;

/// Operand `index` of a contraction as its weight.
static Features getContracted(EinsumOp op, unsigned index) {
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  StringRef weight = index == 0 ? terms.lhs : terms.rhs;
  StringRef other = index == 0 ? terms.rhs : terms.lhs;
  Features features;
  for (auto [dim, letter] : llvm::enumerate(weight)) {
    if (!terms.result.contains(letter))
      features.in.push_back(dim);
    else if (!other.contains(letter))
      features.out.push_back(dim);
  }
  return features;
}

/// Whether `op` repeats its input along new dimensions, or adds such of size 1.
static bool isRepeated(Operation *op) {
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    auto isNotOne = [](int64_t size) { return size != 1; };
    return llvm::equal(
        llvm::make_filter_range(reshape.getInput().getType().getShape(),
                                isNotOne),
        llvm::make_filter_range(reshape.getType().getShape(), isNotOne));
  }
  return isa<BroadcastOp>(op);
}

/// A bias is repeated and added.
static std::optional<Features> getBiasFeatures(OpOperand &use) {
  Operation *op = use.getOwner();
  if (!isRepeated(op) || !llvm::all_of(op->getUsers(), llvm::IsaPred<AddOp>))
    return std::nullopt;
  auto type = cast<RankedTensorType>(use.get().getType());
  return Features{{}, llvm::to_vector(llvm::seq<unsigned>(0, type.getRank()))};
}

static std::optional<Features> getFeatures(OpOperand &use) {
  return llvm::TypeSwitch<Operation *, std::optional<Features>>(use.getOwner())
      .Case([&](EinsumOp op) -> std::optional<Features> {
        return getContracted(op, use.getOperandNumber());
      })
      .Case([&](EmbeddingOp op) -> std::optional<Features> {
        if (use.get() != op.getTable())
          return std::nullopt;
        return Features{{0}, {1}};
      })
      .Default([&](Operation *) { return getBiasFeatures(use); });
}

llvm::DenseMap<Value, Features> tp::getFeatures(FunctionOpInterface function) {
  llvm::DenseMap<Value, Features> result;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (OpOperand &use : op->getOpOperands()) {
      auto argument = dyn_cast<BlockArgument>(use.get());
      if (!argument || argument.getOwner()->getParentOp() != function)
        continue;
      if (std::optional<Features> features = ::getFeatures(use))
        result.try_emplace(argument, std::move(*features));
    }
  });
  return result;
}

AttentionOp tp::findAttention(Value value) {
  // Whatever is added, turned or written into a cache has the same heads; a
  // contraction makes heads from a weight, and its result is not contracted
  // again on the way.
  llvm::SetVector<Value> seen;
  seen.insert(value);
  for (size_t i = 0; i < seen.size(); ++i)
    for (Operation *user : seen[i].getUsers()) {
      if (auto attention = dyn_cast<AttentionOp>(user))
        return attention;
      if (isa<EinsumOp>(user) && seen[i] != value)
        continue;
      if (!isa<EinsumOp, AddOp, RotaryOp, ConvertOp, DynamicUpdateSliceOp>(
              user) &&
          !isRepeated(user))
        continue;
      seen.insert(user->getResult(0));
      // A cache that is only returned has the heads of what is written.
      if (auto update = dyn_cast<DynamicUpdateSliceOp>(user))
        seen.insert(update.getUpdate());
    }
  return {};
}

HeadAxes tp::cutHeads(int64_t kv, int64_t group, AxisRef axis) {
  int64_t part = std::gcd(kv, axis.size), rest = axis.size / part;
  if (rest == 1 || group % rest != 0)
    return {{axis}, {}};
  HeadAxes axes;
  if (part > 1)
    axes.kv.push_back({axis.axis, axis.pre, part});
  axes.group.push_back({axis.axis, axis.pre * part, rest});
  return axes;
}
