// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sequence parallelism, expressed as sharding constraints on results and
// operands of products.

#include "SequenceParallel.h"

#include "Features.h"

#include "tpopt/Dialect/SPMD/SPMD.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

/// Returns the dimensions of an argument that are sharded along `axis`.
static SmallVector<unsigned> getCutDims(func::FuncOp function,
                                        BlockArgument argument,
                                        const Mesh &mesh, AxisRef axis) {
  auto attribute = function.getArgAttrOfType<ShardingAttr>(
      argument.getArgNumber(), kShardingAttr);
  SmallVector<unsigned> dims;
  if (!attribute)
    return dims;
  // This cannot fail: the sharding was verified together with the function.
  auto sharding = std::get<TensorSharding>(
      attribute.resolve(mesh, attribute.getDims().size()));
  for (auto [i, dim] : llvm::enumerate(sharding.dims))
    if (llvm::any_of(dim.axes,
                     [&](const AxisRef &own) { return own.overlaps(axis); }))
      dims.push_back(i);
  return dims;
}

/// Returns the letters of the result of `op` if `isResult` is true. Otherwise
/// returns the letters of the operand of `op` that is not `use`.
static StringRef getLetters(EinsumOp op, OpOperand &use, bool isResult) {
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  return isResult                      ? terms.result
         : use.getOperandNumber() == 0 ? terms.rhs
                                       : terms.lhs;
}

/// Returns the sequence dimension of `value`: its last dimension that the
/// weight `use` does not have; nullopt if this dimension has size 1. If
/// `isResult` is true, `value` is the result of the product with the weight,
/// otherwise the product's other operand.
static std::optional<unsigned> getSequence(Value value, OpOperand &use,
                                           bool isResult) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  std::optional<unsigned> found;
  if (auto einsum = dyn_cast<EinsumOp>(use.getOwner())) {
    EinsumTerms terms = EinsumTerms::split(einsum.getEquation());
    StringRef weight = use.getOperandNumber() == 0 ? terms.lhs : terms.rhs;
    for (auto [dim, letter] :
         llvm::enumerate(getLetters(einsum, use, isResult)))
      if (!weight.contains(letter))
        found = dim;
  } else if (isa<EmbeddingOp>(use.getOwner()) && shape.size() > 1) {
    // The last dimension is the features of the table.
    found = shape.size() - 2;
  }
  return found && shape[*found] > 1 ? found : std::nullopt;
}

/// Follows additions for as long as each sum has only one use.
static Value getWholeSum(Value value) {
  while (value.hasOneUse() && isa<AddOp>(*value.user_begin()))
    value = value.user_begin()->getResult(0);
  return value;
}

/// Collects values to shard along the sequence, each with its sequence
/// dimension: the results of products that are summed over devices, and the
/// operands that are gathered for products. `argument` is the weight of these
/// products, and `dims` are its sharded dimensions.
static void addProducts(BlockArgument argument, ArrayRef<unsigned> dims,
                        llvm::MapVector<Value, unsigned> &values) {
  for (const WeightUse &use : findWeightUses(argument)) {
    Operation *product = use.operand->getOwner();
    auto add = [&](Value value, bool isResult) {
      if (std::optional<unsigned> dim =
              getSequence(value, *use.operand, isResult))
        values.insert({getWholeSum(value), *dim});
    };
    auto hasAll = [&](ArrayRef<unsigned> features) {
      return llvm::all_of(dims, [&](unsigned dim) {
        return llvm::is_contained(features, dim);
      });
    };
    if (hasAll(use.features.in))
      add(product->getResult(0), /*isResult=*/true);
    else if (isa<EinsumOp>(product) && hasAll(use.features.out))
      add(product->getOperand(1 - use.operand->getOperandNumber()),
          /*isResult=*/false);
  }
}

unsigned tp::cutSequences(func::FuncOp function, const Mesh &mesh,
                          AxisRef axis) {
  if (function.isExternal())
    return 0;
  llvm::MapVector<Value, unsigned> values;
  for (BlockArgument argument : function.getArguments())
    if (SmallVector<unsigned> dims = getCutDims(function, argument, mesh, axis);
        !dims.empty())
      addProducts(argument, dims, values);
  OpBuilder builder(function.getContext());
  for (auto [value, sequence] : values) {
    auto type = cast<RankedTensorType>(value.getType());
    auto sharding = TensorSharding::replicate(type.getRank(), /*open=*/true);
    sharding.dims[sequence] = {{axis}, /*open=*/false, /*priority=*/{}};
    builder.setInsertionPointAfterValue(value);
    auto constraint = ConstraintOp::create(
        builder, value.getLoc(), type, value,
        ShardingAttr::get(function.getContext(), mesh, sharding));
    value.replaceAllUsesExcept(constraint, constraint);
  }
  return values.size();
}
