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

/// Elements of `value` around and between those of `x` along `dim`, or fewer of
/// them.
static Value emitPadded(Conversion &c, Value x, Value value, int64_t dim,
                        const Windows &windows) {
  int64_t low = windows.low[dim], high = windows.high[dim];
  x = emitInterior(c, x, value, dim, windows.baseDilations[dim], low, high);
  SmallVector<int64_t> shape(Emitter::typeOf(x).getShape()),
      starts(shape.size(), 0), before(starts);
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

/// Along all dimensions.
static Value emitPadded(Conversion &c, Value x, Value value,
                        const Windows &windows) {
  for (size_t dim = 0; dim < windows.sizes.size(); ++dim)
    x = emitPadded(c, x, value, dim, windows);
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

/// Combines the elements of all windows along a dimension, in their order. What
/// windows reach where the dimension is cut is fetched once.
static Results emitTaps(Conversion &c, ArrayRef<Value> values, ValueRange fills,
                        const Windows &windows, int64_t dim, int64_t output,
                        Body body) {
  int64_t size = windows.sizes[dim], stride = windows.strides[dim],
          dilation = windows.dilations[dim];
  SmallVector<Value> taps;
  for (auto [value, fill] : llvm::zip_equal(values, fills)) {
    int64_t low = windows.low[dim], high = windows.high[dim];
    Value x = emitInterior(c, value, fill, dim, windows.baseDilations[dim], low,
                           high);
    SmallVector<int64_t> shape(Emitter::typeOf(x).getShape());
    int64_t last = (output - 1) * stride + (size - 1) * dilation - low;
    bool readsOutside = low > 0 || last >= shape[dim];
    shape[dim] = output;
    shape.insert(shape.begin() + dim + 1, size);
    taps.push_back(WindowOp::create(
        c.builder, c.op->getLoc(), Emitter::withShape(x, shape), x,
        readsOutside ? fill : Value(), dim, low, stride, dilation));
  }
  SmallVector<Value> sum;
  for (int64_t k = 0; k < size; ++k) {
    SmallVector<Value> pairs(sum);
    for (Value windows : taps) {
      Value tap = emitPart(c.emit, windows, dim + 1, k, k + 1);
      SmallVector<int64_t> shape(Emitter::typeOf(tap).getShape());
      shape.erase(shape.begin() + dim + 1);
      pairs.push_back(c.emit.reshape(tap, shape));
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

/// Windows of at most so many elements are combined element by element.
static constexpr int64_t kMostTaps = 8;

/// All dimensions, the last one first, so that the order of elements stays.
/// `fills` are what surrounds the values.
static Results emitWindows(Conversion &c, SmallVector<Value> values,
                           ValueRange fills, const Windows &windows,
                           Sizes output, Body body) {
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
    begins.assign(order.size(), 0);
    used.assign(c.inShape().begin(), c.inShape().end());
    findUsed();
    for (int64_t dim : getDims())
      reaches.push_back(getReach(dim));
  }

  /// The elements among which one is selected.
  int64_t getCount() const { return count; }

  Results run(Region &select) {
    if (getDims().empty()) // every window is an element
      return c.one(
          c.emit.binary<AddOp>(c.emit.splat(c.in(2), c.inShape()), c.in(1)));
    Results selected =
        areFewElements() ? emitSelectedElement(select) : emitSelected(select);
    if (failed(selected))
      return failure();
    return c.one(areFewWindows() ? emitInWindows((*selected)[1])
                                 : emitScattered((*selected)[1]));
  }

private:
  /// The windows that the elements of a group may be in, as `count` from
  /// `first` on. A group has as many elements as a stride, and is counted as
  /// the window that would begin there without padding.
  struct Reach {
    int64_t first, count, groups;
  };

  Reach getReach(int64_t dim) const {
    int64_t stride = windows.strides[dim], low = windows.low[dim] + begins[dim];
    int64_t first = llvm::divideFloorSigned(low, stride) -
                    (llvm::divideCeil(windows.sizes[dim], stride) - 1);
    int64_t last = llvm::divideFloorSigned(low + stride - 1, stride);
    return {first, last - first + 1,
            int64_t(llvm::divideCeil(used[dim], stride))};
  }

  /// Of a tensor that was padded, the gradient of the padding is cut off again:
  /// those elements are not computed, and blocks stay what they were.
  void findUsed() {
    Value result = c.op->getResult(0);
    Operation *user = result.hasOneUse() ? *result.user_begin() : nullptr;
    if (!user || user->getName().getStringRef() != "stablehlo.slice")
      return;
    auto starts = user->getAttrOfType<DenseI64ArrayAttr>("start_indices"),
         limits = user->getAttrOfType<DenseI64ArrayAttr>("limit_indices"),
         strides = user->getAttrOfType<DenseI64ArrayAttr>("strides");
    size_t rank = order.size();
    if (!starts || !limits || starts.size() != int64_t(rank) ||
        limits.size() != int64_t(rank) ||
        (strides && llvm::any_of(strides.asArrayRef(),
                                 [](int64_t stride) { return stride != 1; })))
      return;
    for (int64_t dim : getDims())
      if (starts[dim] < 0 || starts[dim] >= limits[dim] ||
          limits[dim] > c.inShape()[dim])
        return;
    for (int64_t dim : getDims()) {
      begins[dim] = starts[dim];
      used[dim] = limits[dim] - starts[dim];
    }
  }

  ArrayRef<int64_t> getDims() const {
    return ArrayRef(order).drop_front(batch);
  }

  /// More are looked at one dimension after the other.
  static constexpr int64_t kMostLooks = 32;

  bool areFewElements() const {
    int64_t looks = 1;
    for (int64_t dim : getDims())
      looks = std::min(looks * windows.sizes[dim], kMostLooks + 1);
    return looks <= kMostLooks;
  }

  /// Whether every element is in few windows, and windows are not much more
  /// than the elements.
  bool areFewWindows() const {
    int64_t looks = 1;
    for (auto [dim, reach] : llvm::zip_equal(getDims(), reaches)) {
      if (c.inShape(1)[dim] * windows.strides[dim] > 2 * used[dim])
        return false;
      looks = std::min(looks * reach.count, kMostLooks + 1);
    }
    return looks <= kMostLooks;
  }

  /// Calls `each` with all lists of numbers below `counts`, in order.
  static LogicalResult forEach(Sizes counts,
                               llvm::function_ref<LogicalResult(Sizes)> each) {
    SmallVector<int64_t> numbers(counts.size(), 0);
    while (true) {
      if (failed(each(numbers)))
        return failure();
      size_t i = counts.size();
      while (i > 0 && ++numbers[i - 1] == counts[i - 1])
        numbers[--i] = 0;
      if (i == 0)
        return success();
    }
  }

  /// The places of elements `step` * i + `first` of every dimension that has
  /// windows, where i is the index along `dims` of `shape`.
  Value emitPlaces(Sizes shape, Sizes dims, Sizes steps, Sizes firsts) {
    Type i32 = c.builder.getI32Type();
    auto type = RankedTensorType::get(shape, i32);
    int64_t stride = count, first = 0;
    Value places;
    for (auto [i, dim] : llvm::enumerate(getDims())) {
      stride /= std::max<int64_t>(c.inShape()[dim], 1);
      first += firsts[i] * stride;
      Value along =
          c.emit.binary<MulOp>(c.emit.iota(dims[i], shape, i32),
                               c.emit.constant(steps[i] * stride, type));
      places = places ? c.emit.binary<AddOp>(places, along) : along;
    }
    return c.emit.binary<AddOp>(places, c.emit.constant(first, type));
  }

  /// The place of every element.
  Value emitPlaces() {
    SmallVector<int64_t> ones(getDims().size(), 1), zeros(ones.size(), 0);
    return emitPlaces(c.inShape(), getDims(), ones, zeros);
  }

  /// No place: that of padding.
  Value emitNone() {
    return c.emit.constant(-1,
                           RankedTensorType::get({}, c.builder.getI32Type()));
  }

  /// Combines what was selected so far with an element, each with its place.
  Results selectOne(Region &select, ArrayRef<Value> pairs, Sizes shape) {
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
  }

  /// Of every window the element that is selected, and its place.
  Results emitSelected(Region &select) {
    auto body = [&](ArrayRef<Value> pairs, Sizes shape) {
      return selectOne(select, pairs, shape);
    };
    return emitWindows(c, {c.in(), emitPlaces()}, {c.in(2), emitNone()},
                       windows, c.inShape(1), body);
  }

  /// The same, by every element of all dimensions at once: places follow from
  /// the window, and are not moved.
  Results emitSelectedElement(Region &select) {
    SmallVector<int64_t> sizes, strides, low;
    for (int64_t dim : getDims()) {
      sizes.push_back(windows.sizes[dim]);
      strides.push_back(windows.strides[dim]);
      low.push_back(windows.low[dim]);
    }
    // As the pool itself has it, in all likelihood.
    Value fill = emitIdentity(c.emit, Combiner::Max, c.in());
    Value seen = emitSeen(c.in(), fill ? fill : c.in(2), sizes, c.inShape(1),
                          strides, low);
    Sizes shape = c.inShape(1);
    SmallVector<Value> selected;
    LogicalResult done = forEach(sizes, [&](Sizes element) -> LogicalResult {
      SmallVector<Value> pairs(selected);
      pairs.push_back(emitElement(seen, element));
      pairs.push_back(emitPlacesOf(element));
      Results next =
          selected.empty() ? Results(pairs) : selectOne(select, pairs, shape);
      if (failed(next))
        return failure();
      selected = *next;
      return success();
    });
    return failed(done) ? Results(failure()) : Results(selected);
  }

  /// The place of `element` of every window; none where that is padding.
  Value emitPlacesOf(Sizes element) {
    Sizes shape = c.inShape(1);
    SmallVector<int64_t> steps, firsts;
    for (auto [dim, k] : llvm::zip_equal(getDims(), element)) {
      steps.push_back(windows.strides[dim]);
      firsts.push_back(k - windows.low[dim]);
    }
    Value places = emitPlaces(shape, getDims(), steps, firsts);
    Type i32 = c.builder.getI32Type();
    auto type = RankedTensorType::get(shape, i32);
    for (auto [i, dim] : llvm::enumerate(getDims())) {
      int64_t last = (shape[dim] - 1) * steps[i] + firsts[i],
              size = c.inShape()[dim];
      if (firsts[i] >= 0 && last < size)
        continue;
      Value at = c.emit.binary<AddOp>(
          c.emit.binary<MulOp>(c.emit.iota(dim, shape, i32),
                               c.emit.constant(steps[i], type)),
          c.emit.constant(firsts[i], type));
      Value isInside = c.emit.binary<AndOp>(
          c.emit.compare(ComparePredicate::GE, at, c.emit.constant(0, type)),
          c.emit.compare(ComparePredicate::LT, at,
                         c.emit.constant(size, type)));
      places = c.emit.select(isInside, places, c.emit.constant(-1, type));
    }
    return places;
  }

  /// `x` as windows along all dimensions that have any: `sizes` elements each,
  /// and as many windows as `shape` has.
  Value emitSeen(Value x, Value fill, Sizes sizes, Sizes shape, Sizes strides,
                 Sizes low) {
    SmallVector<int64_t> result, ones(sizes.size(), 1);
    bool readsOutside = false;
    unsigned i = 0;
    for (auto [dim, windows] : llvm::enumerate(shape)) {
      result.push_back(windows);
      if (i == sizes.size() || getDims()[i] != int64_t(dim))
        continue;
      result.push_back(sizes[i]);
      int64_t last = (windows - 1) * strides[i] + sizes[i] - 1 - low[i];
      readsOutside |= low[i] > 0 || last >= Emitter::typeOf(x).getDimSize(dim);
      ++i;
    }
    return WindowOp::create(
        c.builder, c.op->getLoc(), Emitter::withShape(x, result), x,
        readsOutside ? fill : Value(), getDims(), low, strides, ones);
  }

  /// `element` of every window.
  Value emitElement(Value seen, Sizes element) {
    SmallVector<int64_t> sizes(Emitter::typeOf(seen).getShape()),
        starts(sizes.size(), 0), shape;
    for (auto [i, k] : llvm::enumerate(element)) {
      starts[getDims()[i] + i + 1] = k;
      sizes[getDims()[i] + i + 1] = 1;
    }
    Value value = c.emit.slice(seen, starts, sizes);
    unsigned i = 0;
    for (auto [dim, size] : llvm::enumerate(sizes)) {
      bool isElement =
          i < element.size() && int64_t(dim) == getDims()[i] + i + 1;
      if (!isElement)
        shape.push_back(size);
      i += isElement;
    }
    return c.emit.reshape(value, shape);
  }

  /// Every element looks at the windows that it may be in, and nothing is
  /// addressed. Elements stand in groups, as getReach() says.
  Value emitInWindows(Value selected) {
    SmallVector<int64_t> counts, low, ones(reaches.size(), 1);
    SmallVector<int64_t> groups(used), grouped, kept, groupDims, firsts;
    for (auto [dim, reach] : llvm::zip_equal(getDims(), reaches)) {
      counts.push_back(reach.count);
      low.push_back(-reach.first);
      firsts.push_back(begins[dim]);
      groups[dim] = reach.groups;
    }
    SmallVector<int64_t> steps, whole(used);
    for (auto [dim, size] : llvm::enumerate(groups)) {
      kept.push_back(grouped.size());
      grouped.push_back(size);
      if (!llvm::is_contained(getDims(), int64_t(dim)))
        continue;
      groupDims.push_back(grouped.size() - 1);
      grouped.push_back(windows.strides[dim]);
      steps.push_back(windows.strides[dim]);
      whole[dim] = size * windows.strides[dim];
    }
    SmallVector<int64_t> memberDims, zeros(steps.size(), 0);
    for (int64_t dim : groupDims)
      memberDims.push_back(dim + 1);
    Value places =
        c.emit.binary<AddOp>(emitPlaces(grouped, groupDims, steps, firsts),
                             emitPlaces(grouped, memberDims, ones, zeros));
    Value sources = emitSeen(c.in(1), c.in(2), counts, groups, ones, low);
    Value taken = emitSeen(selected, emitNone(), counts, groups, ones, low);
    Value sum = c.emit.splat(c.in(2), grouped);
    (void)forEach(counts, [&](Sizes window) {
      auto see = [&](Value seen) {
        return c.emit.broadcast(emitElement(seen, window), grouped, kept);
      };
      Value isSelected =
          c.emit.compare(ComparePredicate::EQ, places, see(taken));
      sum = c.emit.select(isSelected, c.emit.binary<AddOp>(sum, see(sources)),
                          sum);
      return success();
    });
    sum = c.emit.reshape(sum, whole);
    if (whole != used) {
      SmallVector<int64_t> starts(whole.size(), 0);
      sum = c.emit.slice(sum, starts, used);
    }
    if (sum.getType() == c.outType())
      return sum;
    // Nobody reads what is around it.
    return PadOp::create(c.builder, c.op->getLoc(), c.outType(), sum, c.in(2),
                         begins);
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
  SmallVector<Reach> reaches; ///< Of getDims().
  /// By dimension, the first element of the result that is used, and how many.
  SmallVector<int64_t> begins, used;
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
