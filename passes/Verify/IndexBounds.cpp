// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "IndexBounds.h"

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

/// The depth of the search through the ops that compute an index. Programs do
/// not use longer chains of ops for an index, and a search to this depth is
/// fast.
static constexpr unsigned kMaxDepth = 16;

static IndexBounds getBounds(Value value, unsigned depth);

/// The bounds of a value that may be either of two values with bounds `a` and
/// `b`.
static IndexBounds join(IndexBounds a, IndexBounds b) {
  return {std::min(a.least, b.least), std::max(a.greatest, b.greatest)};
}

static IndexBounds getConstantBounds(ConstantOp op) {
  auto values = dyn_cast<DenseIntElementsAttr>(op.getValue());
  if (!values || values.empty())
    return {};
  IndexBounds bounds{INT64_MAX, INT64_MIN};
  for (const llvm::APInt &number : values) {
    int64_t value = number.sextOrTrunc(64).getSExtValue();
    bounds = join(bounds, {value, value});
  }
  return bounds;
}

/// The bounds of an op's result. Unsigned and narrow integers have no known
/// bounds, since an extent may not fit their type.
static IndexBounds getResultBounds(Operation *op, unsigned depth) {
  auto of = [&](Value value) { return getBounds(value, depth + 1); };
  auto sizeOf = [](Value value, int64_t dim) {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim);
  };
  return llvm::TypeSwitch<Operation *, IndexBounds>(op)
      .Case([](ConstantOp op) { return getConstantBounds(op); })
      .Case([&](IotaOp op) {
        return IndexBounds{0, sizeOf(op.getResult(), op.getDim()) - 1};
      })
      .Case([&](MinOp op) {
        IndexBounds a = of(op.getLhs()), b = of(op.getRhs());
        return IndexBounds{std::min(a.least, b.least),
                           std::min(a.greatest, b.greatest)};
      })
      .Case([&](MaxOp op) {
        IndexBounds a = of(op.getLhs()), b = of(op.getRhs());
        return IndexBounds{std::max(a.least, b.least),
                           std::max(a.greatest, b.greatest)};
      })
      .Case([&](SelectOp op) {
        return join(of(op->getOperand(1)), of(op->getOperand(2)));
      })
      .Case([&](ConcatOp op) {
        IndexBounds bounds{INT64_MAX, INT64_MIN};
        for (Value part : op->getOperands())
          bounds = join(bounds, of(part));
        return bounds;
      })
      .Case([&](ConvertOp op) {
        Value input = op->getOperand(0);
        if (isBoolTensor(input.getType()))
          return IndexBounds{0, 1};
        return isIntegerTensor(input.getType()) ? of(input) : IndexBounds();
      })
      .Case<BroadcastOp, TransposeOp, ReshapeOp, SliceOp, DynamicSliceOp,
            GatherOp>([&](Operation *op) {
        IndexBounds bounds = of(op->getOperand(0));
        return isa<GatherOp>(op) ? join(bounds, {0, 0}) : bounds;
      })
      .Case<spmd::AxisIndexOp>([](spmd::AxisIndexOp op) {
        Mesh mesh = spmd::lookupMesh(op, op.getMeshAttr()).toMesh();
        return IndexBounds{
            0, getSize(spmd::resolveAxes(op.getAxes().getAxes(), mesh)) - 1};
      })
      .Default(IndexBounds());
}

/// The positions that a sort returns are within its dimension.
static IndexBounds getPlaceBounds(OpResult value) {
  if (value.getResultNumber() != 1)
    return {};
  Operation *op = value.getOwner();
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  int64_t longest = 1;
  for (int64_t size : type.getShape())
    longest = std::max(longest, size);
  return {0, longest - 1};
}

static IndexBounds getBounds(Value value, unsigned depth) {
  auto result = dyn_cast<OpResult>(value);
  if (!result || depth > kMaxDepth)
    return {};
  Operation *op = result.getOwner();
  if (isa<SortOp, TopKOp>(op))
    return getPlaceBounds(result);
  return getResultBounds(op, depth);
}

IndexBounds tp::getIndexBounds(Value value) { return getBounds(value, 0); }
