// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/TP/Emitter.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

Value Emitter::constant(double value, RankedTensorType type) {
  Type element = type.getElementType();
  Attribute scalar =
      isa<FloatType>(element)
          ? Attribute(builder.getFloatAttr(element, value))
          : Attribute(builder.getIntegerAttr(element, int64_t(value)));
  return ConstantOp::create(builder, loc, type,
                            DenseElementsAttr::get(type, scalar));
}

Value Emitter::constant(TypedAttr number) {
  auto type = RankedTensorType::get({}, number.getType());
  return ConstantOp::create(builder, loc, type,
                            DenseElementsAttr::get(type, Attribute(number)));
}

Value Emitter::convert(Value x, Type elementType) {
  if (typeOf(x).getElementType() == elementType)
    return x;
  return ConvertOp::create(
      builder, loc, RankedTensorType::get(typeOf(x).getShape(), elementType),
      x);
}

Value Emitter::widen(Value x) {
  Type element = typeOf(x).getElementType();
  return element.getIntOrFloatBitWidth() < 32 ? convert(x, builder.getF32Type())
                                              : x;
}

Value Emitter::broadcast(Value x, ArrayRef<int64_t> shape,
                         ArrayRef<int64_t> dims) {
  return BroadcastOp::create(builder, loc, withShape(x, shape), x, dims);
}

Value Emitter::repeatAlong(Value row, Value like, unsigned dim) {
  SmallVector<int64_t> dims;
  for (int64_t i = 0, n = typeOf(like).getRank(); i < n; ++i)
    if (i != dim)
      dims.push_back(i);
  return broadcast(row, typeOf(like).getShape(), dims);
}

Value Emitter::reduce(ReductionKind kind, Value x, int64_t dim) {
  return reduce(kind, x, ArrayRef<int64_t>(dim));
}

Value Emitter::reduce(ReductionKind kind, Value x, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(typeOf(x).getShape()))
    if (!llvm::is_contained(dims, int64_t(dim)))
      shape.push_back(size);
  return ReduceOp::create(builder, loc, withShape(x, shape), kind, x, dims);
}

Value Emitter::cumulative(ReductionKind kind, Value x, int64_t dim,
                          bool reverse) {
  return CumulativeOp::create(builder, loc, x.getType(), kind, x, dim, reverse);
}

Value Emitter::compare(ComparePredicate predicate, Value a, Value b) {
  return CompareOp::create(
      builder, loc,
      RankedTensorType::get(typeOf(a).getShape(), builder.getI1Type()),
      predicate, a, b);
}

Value Emitter::select(Value condition, Value a, Value b) {
  return SelectOp::create(builder, loc, a.getType(), condition, a, b);
}

Value Emitter::iota(unsigned dim, ArrayRef<int64_t> shape, Type elementType) {
  return IotaOp::create(builder, loc, RankedTensorType::get(shape, elementType),
                        dim);
}

Value Emitter::einsum(StringRef equation, Value a, Value b,
                      ArrayRef<int64_t> shape) {
  return EinsumOp::create(builder, loc, withShape(a, shape), equation, a, b);
}

Value Emitter::transpose(Value x, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(typeOf(x).getDimSize(dim));
  return TransposeOp::create(builder, loc, withShape(x, shape), x, permutation);
}

Value Emitter::slice(Value x, ArrayRef<int64_t> starts,
                     ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> strides(starts.size(), 1);
  return SliceOp::create(builder, loc, withShape(x, sizes), x, starts, strides);
}

Value Emitter::slice(Value x, ArrayRef<int64_t> starts,
                     ArrayRef<int64_t> limits, ArrayRef<int64_t> strides) {
  SmallVector<int64_t> sizes;
  for (auto [start, limit, stride] : llvm::zip_equal(starts, limits, strides))
    sizes.push_back(llvm::divideCeilSigned(limit - start, stride));
  return SliceOp::create(builder, loc, withShape(x, sizes), x, starts, strides);
}

Value Emitter::reshape(Value x, ArrayRef<int64_t> shape) {
  if (typeOf(x).getShape() == shape)
    return x;
  return ReshapeOp::create(builder, loc, withShape(x, shape), x);
}

Value Emitter::bitcast(Value x, Type elementType) {
  if (typeOf(x).getElementType() == elementType)
    return x;
  return BitcastOp::create(
      builder, loc, RankedTensorType::get(typeOf(x).getShape(), elementType),
      x);
}

Value Emitter::gather(Value x, Value indices, int64_t axis, int64_t batchDims) {
  SmallVector<int64_t> shape(typeOf(x).getShape().take_front(axis));
  llvm::append_range(shape, typeOf(indices).getShape().drop_front(batchDims));
  llvm::append_range(shape, typeOf(x).getShape().drop_front(axis + 1));
  return GatherOp::create(builder, loc, withShape(x, shape), x, indices, axis,
                          batchDims);
}

Value Emitter::scatter(ScatterKind kind, Value x, Value indices, Value updates,
                       int64_t axis, int64_t batchDims) {
  return ScatterOp::create(builder, loc, x.getType(), kind, x, indices, updates,
                           axis, batchDims);
}

Value Emitter::dynamicSlice(Value x, ValueRange starts,
                            ArrayRef<int64_t> sizes) {
  return DynamicSliceOp::create(builder, loc, withShape(x, sizes), x, starts);
}

Value Emitter::dynamicUpdate(Value x, Value update, ValueRange starts) {
  return DynamicUpdateSliceOp::create(builder, loc, x.getType(), x, update,
                                      starts);
}

Value Emitter::concat(ArrayRef<Value> parts, unsigned dim) {
  SmallVector<int64_t> shape(typeOf(parts[0]).getShape());
  shape[dim] = 0;
  for (Value part : parts)
    shape[dim] += typeOf(part).getDimSize(dim);
  return ConcatOp::create(builder, loc, withShape(parts[0], shape), parts, dim);
}

Value Emitter::pad(Value x, unsigned dim, int64_t low, int64_t size) {
  SmallVector<int64_t> shape(typeOf(x).getShape()), lows(shape.size(), 0);
  if (shape[dim] == size)
    return x;
  shape[dim] = size;
  lows[dim] = low;
  Value zero = constant(0, withShape(x, {}));
  return PadOp::create(builder, loc, withShape(x, shape), x, zero, lows);
}

Value Emitter::softmax(Value x, unsigned dim) {
  Value max = reduce(ReductionKind::Max, x, dim);
  Value shifted = binary<SubOp>(x, repeatAlong(max, x, dim));
  Value exp = unary<ExpOp>(shifted);
  Value sum = reduce(ReductionKind::Sum, exp, dim);
  return binary<DivOp>(exp, repeatAlong(sum, x, dim));
}
