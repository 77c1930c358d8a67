// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Windows that slide over tensors.

#include "Conversion.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

namespace {

using Body = llvm::function_ref<Results(ArrayRef<Value> pairs, Sizes shape)>;

/// The windows of an operation, per dimension.
struct Windows {
  SmallVector<int64_t> sizes, strides, baseDilations, dilations, low, high;

  bool isTrivial(size_t dim) const {
    return sizes[dim] == 1 && strides[dim] == 1 && baseDilations[dim] == 1 &&
           low[dim] == 0 && high[dim] == 0;
  }
  bool hasPadding() const {
    auto isPositive = [](int64_t count) { return count > 0; };
    auto isSpread = [](int64_t dilation) { return dilation > 1; };
    return llvm::any_of(low, isPositive) || llvm::any_of(high, isPositive) ||
           llvm::any_of(baseDilations, isSpread);
  }
};

} // namespace

static FailureOr<Windows> readWindows(Conversion &c, Sizes shape,
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
        return c.invalid() << " has a window beyond all bounds";
    if (isLarge(windows.low[i]) || isLarge(windows.high[i]) ||
        shape[i] > kLarge)
      return c.invalid() << " has a window beyond all bounds";
    int64_t padded = std::max<int64_t>((shape[i] - 1) * (*base)[i] + 1, 0) +
                     windows.low[i] + windows.high[i];
    int64_t reach = ((*sizes)[i] - 1) * (*dilations)[i] + 1;
    int64_t count = padded < reach ? 0 : (padded - reach) / (*strides)[i] + 1;
    if (i >= output.size() || count != output[i])
      return c.invalid() << " has " << count << " windows along dimension "
                         << i;
  }
  return windows;
}

/// Elements of `value` around and between those of `x`, or fewer of them.
static Value emitPadded(Conversion &c, Value x, Value value,
                        const Windows &windows) {
  auto build = [&](Value from, Sizes shape, Sizes low) -> Value {
    return PadOp::create(c.builder, c.op->getLoc(),
                         Emitter::withShape(from, shape), from, value, low);
  };
  for (size_t dim = 0; dim < windows.sizes.size(); ++dim) {
    SmallVector<int64_t> shape(Emitter::typeOf(x).getShape());
    int64_t spread = windows.baseDilations[dim];
    SmallVector<int64_t> starts(shape.size(), 0);
    int64_t low = windows.low[dim], high = windows.high[dim];
    x = emitInterior(c, x, value, dim, spread, low, high);
    shape[dim] = Emitter::typeOf(x).getDimSize(dim);
    if (low > 0 || high > 0) {
      SmallVector<int64_t> before(shape.size(), 0);
      before[dim] = std::max<int64_t>(low, 0);
      shape[dim] += before[dim] + std::max<int64_t>(high, 0);
      x = build(x, shape, before);
    }
    if (low < 0 || high < 0) {
      starts[dim] = std::max<int64_t>(-low, 0);
      shape[dim] -= starts[dim] + std::max<int64_t>(-high, 0);
      x = c.emit.slice(x, starts, shape);
    }
  }
  return x;
}

/// Part of dimension `dim`.
static Value emitPart(Emitter &emit, Value x, int64_t dim, int64_t start,
                      int64_t limit, int64_t stride = 1) {
  SmallVector<int64_t> limits(Emitter::typeOf(x).getShape()),
      starts(limits.size(), 0), strides(limits.size(), 1);
  if (start == 0 && limit == limits[dim] && stride == 1)
    return x;
  starts[dim] = start;
  limits[dim] = limit;
  strides[dim] = stride;
  return emit.slice(x, starts, limits, strides);
}

/// Combines each element of `a` with the one of `b` `offset` behind it, as far
/// as there is one.
static Results emitCombined(Conversion &c, ArrayRef<Value> a, ArrayRef<Value> b,
                            int64_t dim, int64_t offset, Body body) {
  auto sizeOf = [&](Value x) { return Emitter::typeOf(x).getDimSize(dim); };
  int64_t length = std::min(sizeOf(a[0]), sizeOf(b[0]) - offset);
  SmallVector<Value> pairs;
  for (Value x : a)
    pairs.push_back(emitPart(c.emit, x, dim, 0, length));
  for (Value x : b)
    pairs.push_back(emitPart(c.emit, x, dim, offset, offset + length));
  return body(pairs, Emitter::typeOf(pairs[0]).getShape());
}

/// Windows of 1, 2, 4, .. elements, put together to windows of `size`: as many
/// steps as it has bits, whatever `body` does, as long as it is associative.
static Results emitSliding(Conversion &c, SmallVector<Value> values,
                           int64_t dim, int64_t size, int64_t dilation,
                           Body body) {
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

/// Combines element k of all windows along a dimension, in the order of k. Each
/// element is a shift of the padded tensor by whole strides, of which every
/// `stride`-th row is taken. A shift is usually as long as the tensor without
/// its padding; rows of `fills` that it reads past the end are not taken.
/// `output` is at least 1.
static Results emitShifts(Conversion &c, ArrayRef<Value> values,
                          ValueRange fills, int64_t dim, int64_t size,
                          int64_t dilation, int64_t stride, int64_t output,
                          Body body) {
  int64_t reads = output * stride;
  SmallVector<Value> padded;
  for (auto [value, fill] : llvm::zip_equal(values, fills)) {
    SmallVector<int64_t> shape(Emitter::typeOf(value).getShape()),
        low(shape.size(), 0);
    int64_t end = (size - 1) * dilation / stride * stride + reads;
    bool isShort = shape[dim] < end;
    shape[dim] = std::max(shape[dim], end);
    padded.push_back(isShort
                         ? Value(PadOp::create(c.builder, c.op->getLoc(),
                                               Emitter::withShape(value, shape),
                                               value, fill, low))
                         : value);
  }
  SmallVector<Value> sum;
  for (int64_t k = 0; k < size; ++k) {
    SmallVector<Value> pairs(sum);
    for (Value value : padded) {
      int64_t first = k * dilation, start = first / stride * stride;
      Value shift = emitPart(c.emit, value, dim, start, start + reads);
      pairs.push_back(
          emitPart(c.emit, shift, dim, first - start, reads, stride));
    }
    if (k == 0) {
      sum = pairs;
      continue;
    }
    Results combined = body(pairs, Emitter::typeOf(pairs[0]).getShape());
    if (failed(combined))
      return failure();
    sum = *combined;
  }
  return sum;
}

/// All dimensions, the last one first, so that the order of elements stays.
/// `fills` are what surrounds the values.
static Results emitWindows(Conversion &c, SmallVector<Value> values,
                           ValueRange fills, const Windows &windows,
                           Sizes output, Body body) {
  for (size_t dim = windows.sizes.size(); dim-- > 0;) {
    int64_t size = windows.sizes[dim];
    if (size > 1 && size <= kMostShifts && output[dim] > 0) {
      Results shifted =
          emitShifts(c, values, fills, dim, size, windows.dilations[dim],
                     windows.strides[dim], output[dim], body);
      if (failed(shifted))
        return failure();
      values = *shifted;
      continue;
    }
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

/// Each tensor with elements of `paddings` around it, and as the last one which
/// elements are its own: 1, and 0 for padding.
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

/// Combines two lists of values that end in marks: what is marked on both
/// sides by `body`, else what is marked.
static Results combineMarked(Conversion &c, ArrayRef<Value> pairs, Sizes shape,
                             Body body) {
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

/// The windows of tensors by a region of which no identity is known: padding
/// is marked, and left out.
static Results emitMarkedWindows(Conversion &c, ValueRange tensors,
                                 ValueRange inits, const Windows &windows,
                                 Body body) {
  SmallVector<Value> fills(inits);
  fills.push_back(
      c.emit.constant(0, RankedTensorType::get({}, c.builder.getI32Type())));
  Results reduced =
      emitWindows(c, emitMarked(c, tensors, inits, windows), fills, windows,
                  c.outShape(), [&](ArrayRef<Value> pairs, Sizes shape) {
                    return combineMarked(c, pairs, shape, body);
                  });
  if (failed(reduced))
    return failure();
  // The initial values stand for elements that are there.
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

/// The dimension along which every window has all elements up to its place, or
/// with `true` all from there on; none if windows are others.
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

/// The reduction that combines as the region does.
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

/// As XLA has it, padding does not count, and the initial values count once in
/// every window. The text of StableHLO combines them once more for each element
/// of padding, which is the same if they change nothing.
static Results convertReduceWindow(Conversion &c) {
  size_t operands = c.op->getNumOperands(), n = operands / 2;
  if (operands % 2 || n == 0 || c.op->getNumResults() != n)
    return c.invalid() << " has an initial value and a result for each tensor";
  for (size_t i = 0; i < n; ++i)
    if (c.inShape(i) != c.inShape() || c.inType(n + i).getRank() != 0 ||
        c.inType(n + i).getElementType() != c.inType(i).getElementType())
      return c.invalid() << " has tensors of one shape, and scalars of their "
                            "types as initial values";
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
    SmallVector<Value> values, fills = identity ? SmallVector<Value>{identity}
                                                : SmallVector<Value>(inits);
    for (auto [x, fill] : llvm::zip_equal(tensors, fills))
      values.push_back(emitPadded(c, x, fill, *windows));
    return emitWindows(c, values, fills, *windows, c.outShape(), body);
  };
  Results reduced = emitReduced();
  if (failed(reduced) || (identity && isIdentity(*combiner, c.in(1))))
    return reduced;
  llvm::append_range(pairs, *reduced);
  return combineElementwise(c, region, pairs, c.outShape());
}

//===----------------------------------------------------------------------===//
// SelectAndScatter: the gradient of pooling
//===----------------------------------------------------------------------===//

namespace {
/// Finds in every window the element that is selected, by its place in the
/// dimensions that have windows, and adds the source there.
class SelectAndScatter {
public:
  SelectAndScatter(Conversion &c, const Windows &windows)
      : c(c), windows(windows) {
    // Dimensions without windows first: every element of them is by itself.
    for (bool trivial : {true, false})
      for (int64_t dim = 0; dim < c.inType().getRank(); ++dim)
        if (windows.isTrivial(dim) == trivial) {
          order.push_back(dim);
          batch += trivial;
          count *= trivial ? 1 : c.inShape()[dim];
        }
  }

  /// The elements among which one is selected.
  int64_t getCount() const { return count; }

  Results run(Region &select) {
    Value places = emitPlaces();
    Results selected = emitSelected(select, places);
    if (failed(selected))
      return failure();
    return c.one(areFew() ? emitInWindows(places, (*selected)[1])
                          : emitScattered((*selected)[1]));
  }

private:
  /// In how many windows an element may be along `dim`.
  int64_t getReach(int64_t dim) const {
    return llvm::divideCeil(windows.sizes[dim], windows.strides[dim]);
  }

  /// Whether every element is in few windows, and windows are not much more
  /// than the elements.
  bool areFew() const {
    int64_t reach = 1;
    for (int64_t dim : ArrayRef(order).drop_front(batch)) {
      if (getReach(dim) > kMostShifts ||
          c.inShape(1)[dim] * windows.strides[dim] > 2 * c.inShape()[dim])
        return false;
      reach *= getReach(dim);
    }
    return reach <= kMostShifts * kMostShifts;
  }

  /// The place of every element.
  Value emitPlaces() {
    Type i32 = c.builder.getI32Type();
    auto type = RankedTensorType::get(c.inShape(), i32);
    Value places = c.emit.constant(0, type);
    int64_t stride = count;
    for (int64_t dim : ArrayRef(order).drop_front(batch)) {
      stride /= std::max<int64_t>(c.inShape()[dim], 1);
      places = c.emit.binary<AddOp>(
          places, c.emit.binary<MulOp>(c.emit.iota(dim, c.inShape(), i32),
                                       c.emit.constant(stride, type)));
    }
    return places;
  }

  /// No place: that of padding.
  Value emitNone() {
    return c.emit.constant(-1,
                           RankedTensorType::get({}, c.builder.getI32Type()));
  }

  /// Of every window the element that is selected, and its place.
  Results emitSelected(Region &select, Value places) {
    SmallVector<Value> values = {emitPadded(c, c.in(), c.in(2), windows),
                                 emitPadded(c, places, emitNone(), windows)};
    auto body = [&](ArrayRef<Value> pairs, Sizes shape) -> Results {
      Results first = inlineElementwise(c, select, {pairs[0], pairs[2]}, shape);
      if (failed(first))
        return failure();
      if (first->size() != 1 ||
          first->front().getType() !=
              RankedTensorType::get(shape, c.builder.getI1Type()))
        return c.invalid() << " selects by one i1";
      Value zero = c.emit.constant(0, pairs[1]);
      Value isPadding = c.emit.compare(ComparePredicate::LT, pairs[3], zero);
      Value isElement = c.emit.compare(ComparePredicate::GE, pairs[1], zero);
      Value takeFirst = c.emit.binary<AndOp>(
          isElement, c.emit.binary<OrOp>(first->front(), isPadding));
      return SmallVector<Value>{c.emit.select(takeFirst, pairs[0], pairs[2]),
                                c.emit.select(takeFirst, pairs[1], pairs[3])};
    };
    return emitWindows(c, values, {c.in(2), emitNone()}, windows, c.inShape(1),
                       body);
  }

  /// `x`, which has an element for each window, at every element of the input:
  /// what the window has that is `before[dim]` before the last one to begin
  /// there or earlier, and `fill` where there is none.
  Value emitOverWindows(Value x, Value fill, ArrayRef<int64_t> before) {
    for (int64_t dim : ArrayRef(order).drop_front(batch)) {
      int64_t stride = windows.strides[dim];
      int64_t low = windows.low[dim] - before[dim] * stride;
      SmallVector<int64_t> shape(Emitter::typeOf(x).getShape()), dims;
      for (int64_t i = 0, e = shape.size(); i < e; ++i)
        dims.push_back(i + (i > dim));
      int64_t length = shape[dim] * stride;
      shape.insert(shape.begin() + dim + 1, stride);
      x = c.emit.broadcast(x, shape, dims);
      shape.erase(shape.begin() + dim);
      shape[dim] = length;
      x = c.emit.reshape(x, shape);
      Windows border = windows;
      border.baseDilations.assign(shape.size(), 1);
      border.low.assign(shape.size(), 0);
      border.high.assign(shape.size(), 0);
      border.low[dim] = -low;
      border.high[dim] = c.inShape()[dim] + low - length;
      x = emitPadded(c, x, fill, border);
    }
    return x;
  }

  /// Every element looks at the windows that it is in, and nothing is
  /// addressed.
  Value emitInWindows(Value places, Value selected) {
    Value sum = c.emit.splat(c.in(2), c.inShape());
    SmallVector<int64_t> before(order.size(), 0);
    while (true) {
      Value source = emitOverWindows(c.in(1), c.in(2), before);
      Value isSelected =
          c.emit.compare(ComparePredicate::EQ, places,
                         emitOverWindows(selected, emitNone(), before));
      sum = c.emit.select(isSelected, c.emit.binary<AddOp>(sum, source), sum);
      // The next of all combinations.
      size_t i = batch;
      while (i < order.size() && ++before[order[i]] == getReach(order[i]))
        before[order[i++]] = 0;
      if (i == order.size())
        return sum;
    }
  }

  Value emitScattered(Value selected) {
    SmallVector<int64_t> flat, flatSource, ordered, back(order.size());
    for (int64_t dim : ArrayRef(order).take_front(batch))
      flat.push_back(c.inShape()[dim]);
    flatSource = flat;
    flat.push_back(count);
    int64_t updates = 1;
    for (int64_t dim : ArrayRef(order).drop_front(batch))
      updates *= c.inShape(1)[dim];
    flatSource.push_back(updates);
    auto flatten = [&](Value x) {
      return c.emit.reshape(c.emit.transpose(x, order), flatSource);
    };
    Value target = c.emit.splat(c.in(2), flat);
    Value sum = ScatterOp::create(c.builder, c.op->getLoc(), target.getType(),
                                  ScatterKind::Add, target, flatten(selected),
                                  flatten(c.in(1)), /*axis=*/batch,
                                  /*batch_dims=*/batch);
    for (auto [to, from] : llvm::enumerate(order)) {
      ordered.push_back(c.inShape()[from]);
      back[from] = to;
    }
    return c.emit.transpose(c.emit.reshape(sum, ordered), back);
  }

  Conversion &c;
  const Windows &windows;
  SmallVector<int64_t> order;
  int64_t batch = 0, count = 1;
};
} // namespace

static Results convertSelectAndScatter(Conversion &c) {
  if (c.inType(2).getRank() != 0 ||
      c.inType(1).getRank() != c.inType().getRank())
    return c.invalid() << " takes a tensor, a source of its rank, and a scalar";
  FailureOr<Windows> windows = readWindows(c, c.inShape(), c.inShape(1));
  if (failed(windows))
    return failure();
  if (getCombiner(c.op->getRegion(1)) != Combiner::Add)
    return c.unsupported() << " that does not add";
  SelectAndScatter conversion(c, *windows);
  if (conversion.getCount() > INT32_MAX)
    return c.unsupported() << " of more than 2^31 elements";
  return conversion.run(c.op->getRegion(0));
}

static constexpr Row kRows[] = {
    {"stablehlo.reduce_window", -1, -1, 1, convertReduceWindow},
    {"stablehlo.select_and_scatter", 3, 1, 2, convertSelectAndScatter},
};

ArrayRef<Row> tp::stablehlo::getWindowRows() { return kRows; }
