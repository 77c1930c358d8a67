// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// reduce_window: pooling and cumulative operations.

#include "Windows.h"

#include "dialects/TP/Windows.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

FailureOr<Windows> tp::stablehlo::readWindows(Conversion &c, Sizes shape,
                                              Sizes output) {
  size_t rank = shape.size();
  auto sizes = c.getList("window_dimensions", rank, 1),
       strides = c.getList("window_strides", rank, 1),
       base = c.getList("base_dilations", rank, 1),
       dilations = c.getList("window_dilations", rank, 1),
       padding = c.getList("padding", 2 * rank, 0);
  if (failed(sizes) || failed(strides) || failed(base) || failed(dilations) ||
      failed(padding))
    return failure();
  Windows windows{*sizes, *strides, *base, *dilations, {}, {}};
  for (size_t i = 0; i < rank; ++i) {
    windows.low.push_back((*padding)[2 * i]);
    windows.high.push_back((*padding)[2 * i + 1]);
    for (const auto &list : {*sizes, *strides, *base, *dilations})
      if (list[i] < 1 || list[i] > kLarge)
        return c.invalid()
               << " has a window out of range: expects strides and dilations "
                  "of at least 1, and sizes and padding of at most 2^31";
    if (isLarge(windows.low[i]) || isLarge(windows.high[i]) ||
        shape[i] > kLarge)
      return c.invalid()
             << " has a window out of range: expects strides and dilations of "
                "at least 1, and sizes and padding of at most 2^31";
    int64_t padded = std::max<int64_t>((shape[i] - 1) * (*base)[i] + 1, 0) +
                     windows.low[i] + windows.high[i];
    int64_t reach = ((*sizes)[i] - 1) * (*dilations)[i] + 1;
    int64_t count = padded < reach ? 0 : (padded - reach) / (*strides)[i] + 1;
    if (i >= output.size() || count != output[i])
      return c.invalid() << " makes " << count << " windows along dimension "
                         << i << ", but its result has a different size";
  }
  return windows;
}

/// Adds elements of `value` around and between the elements of `x` along `dim`,
/// or removes elements for negative padding.
static Value emitPadded(Conversion &c, Value x, Value value, int64_t dim,
                        const Windows &windows) {
  int64_t low = windows.low[dim], high = windows.high[dim];
  x = emitInterior(c, x, value, dim, windows.baseDilations[dim], low, high);
  SmallVector<int64_t> shape(typeOf(x).getShape()), starts(shape.size(), 0),
      before(starts);
  if (low > 0 || high > 0) {
    before[dim] = std::max<int64_t>(low, 0);
    shape[dim] += before[dim] + std::max<int64_t>(high, 0);
    x = PadOp::create(c.builder, c.op->getLoc(), Emitter::withShape(x, shape),
                      x, value, before);
  }
  if (low < 0 || high < 0) {
    starts[dim] = std::max<int64_t>(-low, 0);
    shape[dim] -= starts[dim] + std::max<int64_t>(-high, 0);
    x = c.emit.slice(x, starts, shape);
  }
  return x;
}

/// Calls the function above for every dimension.
static Value emitPadded(Conversion &c, Value x, Value value,
                        const Windows &windows) {
  for (size_t dim = 0; dim < windows.sizes.size(); ++dim)
    x = emitPadded(c, x, value, dim, windows);
  return x;
}

/// Returns a part of dimension `dim`.
static Value emitPart(Emitter &emit, Value x, int64_t dim, int64_t start,
                      int64_t limit, int64_t stride = 1) {
  SmallVector<int64_t> limits(typeOf(x).getShape()), starts(limits.size(), 0),
      strides(limits.size(), 1);
  if (start == 0 && limit == limits[dim] && stride == 1)
    return x;
  starts[dim] = start;
  limits[dim] = limit;
  strides[dim] = stride;
  return emit.slice(x, starts, limits, strides);
}

/// Combines each element of `a` with the element of `b` that is `offset`
/// positions further on, if there is one.
static Results emitCombined(Conversion &c, ArrayRef<Value> a, ArrayRef<Value> b,
                            int64_t dim, int64_t offset, CombineFn body) {
  auto sizeOf = [&](Value x) { return typeOf(x).getDimSize(dim); };
  int64_t length = std::min(sizeOf(a[0]), sizeOf(b[0]) - offset);
  SmallVector<Value> pairs;
  for (Value x : a)
    pairs.push_back(emitPart(c.emit, x, dim, 0, length));
  for (Value x : b)
    pairs.push_back(emitPart(c.emit, x, dim, offset, offset + length));
  return body(pairs, typeOf(pairs[0]).getShape());
}

/// Builds windows of `size` elements from windows of 1, 2, 4, .. elements: this
/// takes as many steps as `size` has bits. `body` must be associative.
static Results emitSliding(Conversion &c, SmallVector<Value> values,
                           int64_t dim, int64_t size, int64_t dilation,
                           CombineFn body) {
  SmallVector<Value> sum;
  int64_t covered = 0;
  for (int64_t power = 1; power <= size; power *= 2) {
    if (power > 1) {
      Results doubled =
          emitCombined(c, values, values, dim, power / 2 * dilation, body);
      if (failed(doubled))
        return failure();
      values = *doubled;
    }
    if (!(size & power))
      continue;
    if (sum.empty()) {
      sum = values;
    } else {
      Results longer =
          emitCombined(c, sum, values, dim, covered * dilation, body);
      if (failed(longer))
        return failure();
      sum = *longer;
    }
    covered += power;
  }
  return sum;
}

/// Combines the elements of all windows along a dimension, in order. If the
/// dimension is sharded, each device fetches the elements that its windows need
/// only once.
static Results emitTaps(Conversion &c, ArrayRef<Value> values, ValueRange fills,
                        const Windows &windows, int64_t dim, int64_t output,
                        CombineFn body) {
  int64_t size = windows.sizes[dim], stride = windows.strides[dim],
          dilation = windows.dilations[dim];
  SmallVector<Value> taps;
  for (auto [value, fill] : llvm::zip_equal(values, fills)) {
    int64_t low = windows.low[dim], high = windows.high[dim];
    Value x = emitInterior(c, value, fill, dim, windows.baseDilations[dim], low,
                           high);
    SmallVector<int64_t> shape(typeOf(x).getShape());
    shape[dim] = output;
    shape.insert(shape.begin() + dim + 1, size);
    taps.push_back(emitWindow(c.builder, c.op->getLoc(),
                              Emitter::withShape(x, shape), x, fill, dim, low,
                              stride, dilation));
  }
  SmallVector<Value> sum;
  for (int64_t k = 0; k < size; ++k) {
    SmallVector<Value> pairs(sum);
    for (Value windows : taps) {
      Value tap = emitPart(c.emit, windows, dim + 1, k, k + 1);
      SmallVector<int64_t> shape(typeOf(tap).getShape());
      shape.erase(shape.begin() + dim + 1);
      pairs.push_back(c.emit.reshape(tap, shape));
    }
    if (k == 0) {
      sum = pairs;
      continue;
    }
    Results combined = body(pairs, typeOf(pairs[0]).getShape());
    if (failed(combined))
      return failure();
    sum = *combined;
  }
  return sum;
}

/// Windows with at most this many elements are combined element by element.
static constexpr int64_t kMostTaps = 8;

/// Handles the last dimension first, so that elements stay in order.
Results tp::stablehlo::emitWindows(Conversion &c, SmallVector<Value> values,
                                   ValueRange fills, const Windows &windows,
                                   Sizes output, CombineFn body) {
  for (size_t dim = windows.sizes.size(); dim-- > 0;) {
    int64_t size = windows.sizes[dim];
    if (size > 1 && size <= kMostTaps && output[dim] > 0) {
      Results combined =
          emitTaps(c, values, fills, windows, dim, output[dim], body);
      if (failed(combined))
        return failure();
      values = *combined;
      continue;
    }
    for (auto [value, fill] : llvm::zip_equal(values, fills))
      value = emitPadded(c, value, fill, dim, windows);
    if (size > 1) {
      Results slid =
          emitSliding(c, values, dim, size, windows.dilations[dim], body);
      if (failed(slid))
        return failure();
      values = *slid;
    }
    int64_t stride = windows.strides[dim];
    int64_t limit = output[dim] == 0 ? 0 : (output[dim] - 1) * stride + 1;
    for (Value &value : values)
      value = emitPart(c.emit, value, dim, 0, limit, stride);
  }
  return values;
}

/// Pads each tensor with the value at the same index of `paddings`. Returns the
/// padded tensors and, after them, a tensor of marks: 1 for an element of a
/// tensor, 0 for padding.
static SmallVector<Value> emitMarked(Conversion &c, ValueRange tensors,
                                     ValueRange paddings,
                                     const Windows &windows) {
  SmallVector<Value> values;
  for (auto [x, padding] : llvm::zip_equal(tensors, paddings))
    values.push_back(emitPadded(c, x, padding, windows));
  Type i32 = c.builder.getI32Type();
  values.push_back(
      emitPadded(c, c.emit.constant(1, c.inType().clone(i32)),
                 c.emit.constant(0, RankedTensorType::get({}, i32)), windows));
  return values;
}

/// Combines two lists of values, element by element. The last value of each
/// list holds marks. If the marks of both lists are set, combines the elements
/// by `body`; otherwise takes the element whose mark is set.
static Results combineMarked(Conversion &c, ArrayRef<Value> pairs, Sizes shape,
                             CombineFn body) {
  size_t n = pairs.size() / 2 - 1;
  ArrayRef<Value> a = pairs.take_front(n), b = pairs.slice(n + 1, n);
  Value markOfA = pairs[n], markOfB = pairs.back();
  SmallVector<Value> unmarked(a);
  llvm::append_range(unmarked, b);
  Results combined = body(unmarked, shape);
  if (failed(combined))
    return failure();
  auto isMarked = [&](Value mark) {
    return c.emit.compare(ComparePredicate::NE, mark, c.emit.constant(0, mark));
  };
  Value hasA = isMarked(markOfA), hasB = isMarked(markOfB);
  for (auto [value, own, other] : llvm::zip_equal(*combined, a, b))
    value = c.emit.select(hasA, c.emit.select(hasB, value, own), other);
  combined->push_back(c.emit.binary<MaxOp>(markOfA, markOfB));
  return combined;
}

/// Combines windows of tensors by a region without a known identity: marks
/// distinguish elements from padding, which is ignored.
static Results emitMarkedWindows(Conversion &c, ValueRange tensors,
                                 ValueRange inits, const Windows &windows,
                                 CombineFn body) {
  SmallVector<Value> fills(inits);
  fills.push_back(
      c.emit.constant(0, RankedTensorType::get({}, c.builder.getI32Type())));
  Windows inside = windows;
  inside.low.assign(inside.low.size(), 0);
  inside.high.assign(inside.high.size(), 0);
  inside.baseDilations.assign(inside.baseDilations.size(), 1);
  Results reduced =
      emitWindows(c, emitMarked(c, tensors, inits, windows), fills, inside,
                  c.outShape(), [&](ArrayRef<Value> pairs, Sizes shape) {
                    return combineMarked(c, pairs, shape, body);
                  });
  if (failed(reduced))
    return failure();
  // Marks the initial values as elements, not as padding.
  SmallVector<Value> pairs;
  for (Value init : inits)
    pairs.push_back(c.emit.splat(init, c.outShape()));
  pairs.push_back(c.emit.constant(1, reduced->back()));
  llvm::append_range(pairs, *reduced);
  Results combined = combineMarked(c, pairs, c.outShape(), body);
  if (succeeded(combined))
    combined->pop_back();
  return combined;
}

/// Returns the dimension along which windows are cumulative, and whether they
/// are reversed; nullopt for other windows. A cumulative window ends at its own
/// position and has all elements before it. If reversed, it begins there and
/// has all elements after it.
static std::optional<std::pair<int64_t, bool>>
getCumulative(const Windows &windows, Sizes shape) {
  std::optional<std::pair<int64_t, bool>> found;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (windows.isTrivial(dim))
      continue;
    int64_t low = windows.low[dim], high = windows.high[dim];
    bool isAll = windows.sizes[dim] == size && windows.strides[dim] == 1 &&
                 windows.baseDilations[dim] == 1 &&
                 windows.dilations[dim] == 1 && low + high == size - 1 &&
                 (low == 0 || high == 0);
    if (found || !isAll)
      return std::nullopt;
    found = {int64_t(dim), low == 0};
  }
  return found;
}

/// Returns the kind of reduction that corresponds to a combiner; nullopt if
/// there is none.
static std::optional<ReductionKind> getKind(Combiner combiner) {
  switch (combiner) {
  case Combiner::Add:
    return ReductionKind::Sum;
  case Combiner::Mul:
    return ReductionKind::Prod;
  case Combiner::Max:
    return ReductionKind::Max;
  case Combiner::Min:
    return ReductionKind::Min;
  default:
    return std::nullopt;
  }
}

/// As in XLA, padding is ignored, and each window combines the initial values
/// once. According to the StableHLO specification, they are combined again for
/// each element of padding. The result is the same if they are identities.
static Results convertReduceWindow(Conversion &c) {
  size_t operands = c.op->getNumOperands(), n = operands / 2;
  if (operands % 2 || n == 0 || c.op->getNumResults() != n)
    return c.invalid()
           << " expects an initial value and a result for each tensor";
  for (size_t i = 0; i < n; ++i)
    if (c.inShape(i) != c.inShape() || c.inType(n + i).getRank() != 0 ||
        c.inType(n + i).getElementType() != c.inType(i).getElementType())
      return c.invalid() << " expects tensors of the same shape, and scalars "
                            "of their element types as initial values";
  FailureOr<Windows> windows = readWindows(c, c.inShape(), c.outShape());
  if (failed(windows))
    return failure();
  Region &region = c.op->getRegion(0);
  auto body = [&](ArrayRef<Value> pairs, Sizes shape) {
    return combineElementwise(c, region, pairs, shape);
  };
  ValueRange tensors = c.op->getOperands().take_front(n),
             inits = c.op->getOperands().drop_front(n);
  SmallVector<Value> pairs;
  for (Value init : inits)
    pairs.push_back(c.emit.splat(init, c.outShape()));
  if (isEmpty(c.outType()))
    return pairs;
  std::optional<Combiner> combiner =
      n == 1 ? getCombiner(region) : std::nullopt;
  Value identity =
      combiner ? emitIdentity(c.emit, *combiner, c.in(1)) : Value();
  if (!identity && windows->hasPadding())
    return emitMarkedWindows(c, tensors, inits, *windows, body);
  auto emitReduced = [&]() -> Results {
    auto cumulative = getCumulative(*windows, c.inShape());
    auto kind = identity ? getKind(*combiner) : std::nullopt;
    if (cumulative && kind && !c.inType().getElementType().isInteger(1))
      return c.one(CumulativeOp::create(c.builder, c.op->getLoc(), c.outType(),
                                        *kind, c.in(), cumulative->first,
                                        cumulative->second));
    SmallVector<Value> fills =
        identity ? SmallVector<Value>{identity} : SmallVector<Value>(inits);
    return emitWindows(c, SmallVector<Value>(tensors), fills, *windows,
                       c.outShape(), body);
  };
  Results reduced = emitReduced();
  if (failed(reduced) || (identity && isIdentity(*combiner, c.in(1))))
    return reduced;
  llvm::append_range(pairs, *reduced);
  return combineElementwise(c, region, pairs, c.outShape());
}

static constexpr Row kWindowRows[] = {
    {"stablehlo.reduce_window", -1, -1, 1, convertReduceWindow},
};

ArrayRef<Row> tp::stablehlo::getWindowRows() { return kWindowRows; }
