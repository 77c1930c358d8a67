// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Constants, and operations that move data.

#include "Conversion.h"

#include "dialects/TP/SplicePieces.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

static Results convertConstant(Conversion &c) {
  auto value = dyn_cast_or_null<ElementsAttr>(c.get("value"));
  if (!value || value.getType() != c.outType())
    return c.invalid() << " expects `value` to have the type of the result";
  if (!isa<DenseElementsAttr, DenseResourceElementsAttr>(value))
    return c.unsupported()
           << " expects a value written as dense<..> or dense_resource<..>";
  return c.one(
      ConstantOp::create(c.builder, c.op->getLoc(), c.outType(), value));
}

static Results convertIota(Conversion &c) {
  FailureOr<int64_t> dim = c.getInteger("iota_dimension");
  if (failed(dim))
    return failure();
  if (*dim < 0 || *dim >= c.outType().getRank())
    return c.invalid() << " cannot count along dimension " << *dim << ", which "
                       << c.outType() << " does not have";
  return c.one(c.emit.iota(*dim, c.outShape(), c.outElement()));
}

/// If all elements of a constant operand are the same number, returns a
/// constant with the result's shape; otherwise null. Exporters broadcast all
/// numbers, and these broadcasts are a sixth of the ops of a training step.
static Value widenNumber(Conversion &c) {
  auto constant = c.in().getDefiningOp<ConstantOp>();
  auto number = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                         : SplatElementsAttr();
  return number ? ConstantOp::create(c.builder, c.op->getLoc(), c.outType(),
                                     number.resizeSplat(c.outType()))
                : Value();
}

/// Dimensions of size 1 may be repeated, and dimensions may be permuted.
static Results convertBroadcastInDim(Conversion &c) {
  auto dims = c.getDims("broadcast_dimensions", c.outType().getRank());
  if (failed(dims))
    return failure();
  if (int64_t(dims->size()) != c.inType().getRank())
    return c.invalid()
           << " expects `broadcast_dimensions` to name one dimension of the "
              "result for each dimension of the operand";
  // Drops the dimensions that are repeated, and puts the others in the order of
  // the result.
  SmallVector<int64_t> kept, keptSizes;
  for (auto [dim, size] : llvm::zip_equal(*dims, c.inShape())) {
    if (size != c.outShape()[dim] && size != 1)
      return c.invalid() << " cannot broadcast a dimension of size " << size
                         << " to size " << c.outShape()[dim];
    if (size == c.outShape()[dim]) {
      kept.push_back(dim);
      keptSizes.push_back(size);
    }
  }
  if (Value number = widenNumber(c))
    return c.one(number);
  Value x = c.emit.reshape(c.in(), keptSizes);
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, kept.size()));
  llvm::sort(order, [&](int64_t a, int64_t b) { return kept[a] < kept[b]; });
  if (!llvm::is_sorted(order))
    x = c.emit.transpose(x, order);
  llvm::sort(kept);
  if (x.getType() == c.outType())
    return c.one(x);
  return c.one(c.emit.broadcast(x, c.outShape(), kept));
}

static Results convertBroadcast(Conversion &c) {
  auto sizes = c.getList("broadcast_sizes");
  if (failed(sizes))
    return failure();
  int64_t rank = c.outType().getRank();
  if (int64_t(sizes->size()) + c.inType().getRank() != rank)
    return c.invalid() << " expects as many `broadcast_sizes` as the result "
                          "has new dimensions";
  SmallVector<int64_t> dims =
      llvm::to_vector(llvm::seq<int64_t>(sizes->size(), rank));
  if (Value number = widenNumber(c))
    return c.one(number);
  return c.one(c.emit.broadcast(c.in(), c.outShape(), dims));
}

static Results convertReshape(Conversion &c) {
  return c.one(c.emit.reshape(c.in(), c.outShape()));
}

static Results convertTranspose(Conversion &c) {
  auto permutation = c.getDims("permutation", c.inType().getRank());
  if (failed(permutation))
    return failure();
  if (int64_t(permutation->size()) != c.inType().getRank())
    return c.invalid() << " expects `permutation` to name every dimension once";
  return c.one(c.emit.transpose(c.in(), *permutation));
}

static Results convertSlice(Conversion &c) {
  size_t rank = c.inType().getRank();
  auto starts = c.getList("start_indices", rank),
       limits = c.getList("limit_indices", rank),
       strides = c.getList("strides", rank, 1);
  if (failed(starts) || failed(limits) || failed(strides))
    return failure();
  for (auto [start, limit, stride, size] :
       llvm::zip_equal(*starts, *limits, *strides, c.inShape()))
    if (start < 0 || start > limit || limit > size || stride < 1)
      return c.invalid() << " cannot take [" << start << ":" << limit << ":"
                         << stride << "] of a dimension of size " << size;
  // `tp.slice` takes as many elements as its result type has. The start of an
  // empty slice may be beyond the end.
  for (auto [start, limit] : llvm::zip_equal(*starts, *limits))
    if (start == limit)
      start = limit = 0;
  return c.one(c.emit.slice(c.in(), *starts, *limits, *strides));
}

static Results convertConcatenate(Conversion &c) {
  FailureOr<int64_t> dim = c.getInteger("dimension");
  if (failed(dim))
    return failure();
  SmallVector<Value> parts(c.op->getOperands());
  for (Value part : parts)
    if (*dim < 0 || *dim >= typeOf(part).getRank())
      return c.invalid() << " expects operands that have dimension " << *dim;
  if (parts.empty())
    return c.invalid() << " expects at least one operand";
  if (!isEmpty(c.outType()))
    llvm::erase_if(parts, [](Value part) { return isEmpty(part.getType()); });
  return c.one(parts.size() == 1 ? parts[0] : c.emit.concat(parts, *dim));
}

Value tp::stablehlo::emitSpread(Conversion &c, Value x, Value value,
                                int64_t dim, int64_t spread, int64_t at) {
  SmallVector<int64_t> shape(typeOf(x).getShape());
  int64_t size = shape[dim];
  shape.insert(shape.begin() + dim + 1, 1);
  Value column = c.emit.reshape(x, shape);
  SmallVector<int64_t> low(shape.size(), 0);
  low[dim + 1] = at;
  shape[dim + 1] = spread;
  Value padded =
      PadOp::create(c.builder, c.op->getLoc(), Emitter::withShape(x, shape),
                    column, value, low);
  shape.erase(shape.begin() + dim);
  shape[dim] = size * spread;
  return c.emit.reshape(padded, shape);
}

Value tp::stablehlo::emitInterior(Conversion &c, Value x, Value value,
                                  int64_t dim, int64_t spread, int64_t &low,
                                  int64_t &high) {
  SmallVector<int64_t> shape(typeOf(x).getShape());
  int64_t size = shape[dim];
  if (spread == 1 || size < 2)
    return x;
  int64_t length = (size - 1) * spread + 1 + low + high;
  int64_t before = llvm::divideFloorSigned(low, spread);
  int64_t at = low - before * spread;
  int64_t rows = llvm::divideCeilSigned(length, spread);
  int64_t after = rows - before - size;
  if (rows == size && std::abs(before) < size) {
    // First shifts the rows: adds as many at one end as it removes at the
    // other. Blocks therefore keep their size.
    SmallVector<int64_t> lows(shape.size(), 0), starts(lows);
    if (before > 0 || after > 0) {
      lows[dim] = std::max<int64_t>(before, 0);
      shape[dim] += lows[dim] + std::max<int64_t>(after, 0);
      x = PadOp::create(c.builder, c.op->getLoc(), Emitter::withShape(x, shape),
                        x, value, lows);
    }
    starts[dim] = std::max<int64_t>(-before, 0);
    shape[dim] = rows;
    if (before < 0 || after < 0)
      x = c.emit.slice(x, starts, shape);
    low = 0;
    high = length - rows * spread;
  } else {
    low -= at;
    high -= spread - 1 - at;
  }
  return emitSpread(c, x, value, dim, spread, at);
}

/// Creates interior padding along `dim` as one op, which moves only data that
/// changes its device, regardless of the block sizes. Uses emitInterior instead
/// if, for example, the result is all fill. `low` and `high` become the
/// remaining padding.
static Value emitDilated(Conversion &c, Value x, Value value, int64_t dim,
                         int64_t spacing, int64_t &low, int64_t &high) {
  SmallVector<int64_t> shape(typeOf(x).getShape());
  int64_t size = shape[dim];
  int64_t length = (size - 1) * spacing + 1 + low + high;
  bool isAny = size > 1 && low < length && low + (size - 1) * spacing >= 0;
  if (spacing == 1 || spacing > INT32_MAX || !isAny)
    return emitInterior(c, x, value, dim, spacing, low, high);
  shape[dim] = length;
  x = DilateOp::create(c.builder, c.op->getLoc(), Emitter::withShape(x, shape),
                       x, value, dim, low, spacing);
  low = high = 0;
  return x;
}

static Results convertPad(Conversion &c) {
  size_t rank = c.inType().getRank();
  auto low = c.getList("edge_padding_low", rank),
       high = c.getList("edge_padding_high", rank),
       interior = c.getList("interior_padding", rank, 0);
  if (failed(low) || failed(high) || failed(interior))
    return failure();
  if (c.inType(1).getRank() != 0 ||
      c.inType(1).getElementType() != c.inType().getElementType() ||
      c.outType().getRank() != c.inType().getRank())
    return c.invalid()
           << " expects a scalar padding value of the operand's element type";
  // Checks that the sizes of all dimensions are right before building anything.
  for (size_t i = 0; i < rank; ++i) {
    __int128 size = c.inShape()[i];
    __int128 inner = size + std::max<__int128>(size - 1, 0) * (*interior)[i];
    if ((*interior)[i] < 0 || inner + (*low)[i] + (*high)[i] != c.outShape()[i])
      return c.invalid() << " expects padding that gives dimension " << i
                         << " the size that it has in the result, "
                         << c.outType();
  }
  Value x = c.in(), value = c.in(1);
  if (isEmpty(x.getType()))
    return c.one(c.emit.splat(value, c.outShape()));
  for (size_t i = 0; i < rank; ++i)
    x = emitDilated(c, x, value, i, 1 + (*interior)[i], (*low)[i], (*high)[i]);
  // Negative padding removes elements. Doing this after adding the other
  // padding keeps sizes from going below zero.
  SmallVector<int64_t> shape(typeOf(x).getShape()), begin, starts;
  bool pads = false, cuts = false;
  for (size_t i = 0; i < rank; ++i) {
    int64_t before = std::max<int64_t>((*low)[i], 0);
    int64_t behind = std::max<int64_t>((*high)[i], 0);
    begin.push_back(before);
    starts.push_back(before - (*low)[i]);
    shape[i] += before + behind;
    pads |= before || behind;
    cuts |= (*low)[i] < 0 || (*high)[i] < 0;
  }
  if (pads)
    x = PadOp::create(c.builder, c.op->getLoc(), Emitter::withShape(x, shape),
                      x, value, begin);
  if (cuts) {
    // The start of an empty slice does not matter.
    for (auto [start, size] : llvm::zip_equal(starts, c.outShape()))
      if (size == 0)
        start = 0;
    x = c.emit.slice(x, starts, c.outShape());
  }
  return c.one(x);
}

Value tp::stablehlo::emitReverse(Conversion &c, Value x, int64_t dim) {
  SplicePieces pieces{dim, {}};
  int64_t size = typeOf(x).getDimSize(dim);
  pieces.add({x, size - 1, size, -1});
  return pieces.isIdentity()
             ? x
             : pieces.build(c.builder, c.op->getLoc(), x.getType());
}

/// Element i becomes element n - 1 - i.
static Results convertReverse(Conversion &c) {
  auto dims = c.getDims("dimensions", c.inType().getRank());
  if (failed(dims))
    return failure();
  Value x = c.in();
  if (isEmpty(c.inType()))
    return c.one(x);
  for (int64_t dim : *dims)
    x = emitReverse(c, x, dim);
  return c.one(x);
}

static Results convertDynamicSlice(Conversion &c) {
  if (c.op->getNumOperands() == 0)
    return c.invalid() << " expects at least one operand";
  return c.one(DynamicSliceOp::create(c.builder, c.op->getLoc(), c.outType(),
                                      c.in(),
                                      c.op->getOperands().drop_front()));
}

static Results convertDynamicUpdateSlice(Conversion &c) {
  if (c.op->getNumOperands() < 2)
    return c.invalid() << " expects an operand and an update";
  return c.one(DynamicUpdateSliceOp::create(c.builder, c.op->getLoc(),
                                            c.outType(), c.in(0), c.in(1),
                                            c.op->getOperands().drop_front(2)));
}

static Results convertDimensionSize(Conversion &c) {
  FailureOr<int64_t> dim = c.getInteger("dimension");
  if (failed(dim))
    return failure();
  if (*dim < 0 || *dim >= c.inType().getRank())
    return c.invalid() << " cannot take the size of dimension " << *dim
                       << " of " << c.inType();
  return c.one(c.emit.constant(c.inShape()[*dim], c.outType()));
}

static constexpr Row kShapeRows[] = {
    {"chlo.constant", 0, 1, 0, convertConstant},
    {"mhlo.copy", 1, 1, 0, convertReshape},
    {"stablehlo.broadcast", 1, 1, 0, convertBroadcast},
    {"stablehlo.broadcast_in_dim", 1, 1, 0, convertBroadcastInDim},
    {"stablehlo.concatenate", -1, 1, 0, convertConcatenate},
    {"stablehlo.constant", 0, 1, 0, convertConstant},
    {"stablehlo.dynamic_slice", -1, 1, 0, convertDynamicSlice},
    {"stablehlo.dynamic_update_slice", -1, 1, 0, convertDynamicUpdateSlice},
    {"stablehlo.get_dimension_size", 1, 1, 0, convertDimensionSize},
    {"stablehlo.iota", 0, 1, 0, convertIota},
    {"stablehlo.pad", 2, 1, 0, convertPad},
    {"stablehlo.reshape", 1, 1, 0, convertReshape},
    {"stablehlo.reverse", 1, 1, 0, convertReverse},
    {"stablehlo.slice", 1, 1, 0, convertSlice},
    {"stablehlo.transpose", 1, 1, 0, convertTranspose},
};

ArrayRef<Row> tp::stablehlo::getShapeRows() { return kShapeRows; }
