// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// select_and_scatter: the gradient of pooling.

#include "Windows.h"

#include "dialects/TP/Windows.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

namespace {
/// Finds, for each window, the position of the selected element in the
/// dimensions that have windows, and adds the source to that element.
class SelectAndScatter {
public:
  SelectAndScatter(Conversion &c, const Windows &windows)
      : c(c), windows(windows) {
    // Dimensions without windows come first: along these, elements are
    // independent.
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

  /// Returns the number of positions in the dimensions that have windows.
  int64_t getCount() const { return count; }

  Results run(Region &select) {
    if (getDims().empty()) // every window has one element
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
  /// Elements form groups, which have as many elements as the stride. Only the
  /// windows g + first to g + first + count - 1 may contain elements of group
  /// g. `groups` is the number of groups.
  struct Reach {
    int64_t first, count, groups;
  };

  Reach getReach(int64_t dim) const {
    int64_t stride = windows.strides[dim], low = windows.low[dim] + begins[dim];
    int64_t first =
        llvm::divideCeilSigned(low - windows.sizes[dim] + 1, stride);
    int64_t last = llvm::divideFloorSigned(low + stride - 1, stride);
    return {first, last - first + 1,
            int64_t(llvm::divideCeil(used[dim], stride))};
  }

  /// Finds the elements of the result that are used. If the input of the pool
  /// was padded, a slice after this op removes the gradient of the padding.
  /// Only the elements in the slice are computed, so that blocks keep their
  /// size.
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

  /// The maximum number of elements per window, or of windows per element, that
  /// are handled one by one.
  static constexpr int64_t kMostLooks = 32;

  bool areFewElements() const {
    int64_t looks = 1;
    for (int64_t dim : getDims())
      looks = std::min(looks * windows.sizes[dim], kMostLooks + 1);
    return looks <= kMostLooks;
  }

  /// Returns true if every element is in few windows, and the windows do not
  /// cover many more elements than are used.
  bool areFewWindows() const {
    int64_t looks = 1;
    for (auto [dim, reach] : llvm::zip_equal(getDims(), reaches)) {
      if (c.inShape(1)[dim] * windows.strides[dim] > 2 * used[dim])
        return false;
      looks = std::min(looks * reach.count, kMostLooks + 1);
    }
    return looks <= kMostLooks;
  }

  /// Calls `each` with every index of a tensor of shape `counts`, in row-major
  /// order.
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

  /// Returns a tensor of `shape` with positions of elements. In the i-th
  /// dimension that has windows, the index of the element is `steps[i]` * k +
  /// `firsts[i]`, where k is the index along dimension `dims[i]` of `shape`.
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

  /// Returns the position of every element.
  Value emitPlaces() {
    SmallVector<int64_t> ones(getDims().size(), 1), zeros(ones.size(), 0);
    return emitPlaces(c.inShape(), getDims(), ones, zeros);
  }

  /// Returns -1, the position of padding.
  Value emitNone() {
    return c.emit.constant(-1,
                           RankedTensorType::get({}, c.builder.getI32Type()));
  }

  /// Selects between the element selected so far and another element. `pairs`
  /// holds these two elements, each followed by its position.
  Results selectOne(Region &select, ArrayRef<Value> pairs, Sizes shape) {
    Results first = inlineElementwise(c, select, {pairs[0], pairs[2]}, shape);
    if (failed(first))
      return failure();
    if (first->size() != 1 ||
        first->front().getType() !=
            RankedTensorType::get(shape, c.builder.getI1Type()))
      return c.invalid() << " expects a select region that returns one i1";
    Value zero = c.emit.constant(0, pairs[1]);
    Value isPadding = c.emit.compare(ComparePredicate::LT, pairs[3], zero);
    Value isElement = c.emit.compare(ComparePredicate::GE, pairs[1], zero);
    Value takeFirst = c.emit.binary<AndOp>(
        isElement, c.emit.binary<OrOp>(first->front(), isPadding));
    return SmallVector<Value>{c.emit.select(takeFirst, pairs[0], pairs[2]),
                              c.emit.select(takeFirst, pairs[1], pairs[3])};
  }

  /// Returns the element that each window selects, and its position.
  Results emitSelected(Region &select) {
    auto body = [&](ArrayRef<Value> pairs, Sizes shape) {
      return selectOne(select, pairs, shape);
    };
    return emitWindows(c, {c.in(), emitPlaces()}, {c.in(2), emitNone()},
                       windows, c.inShape(1), body);
  }

  /// Like emitSelected, but handles all dimensions at once, and the elements of
  /// each window one after the other. Computes positions from the window's
  /// index, instead of moving them with the elements.
  Results emitSelectedElement(Region &select) {
    SmallVector<int64_t> sizes, strides, low;
    for (int64_t dim : getDims()) {
      sizes.push_back(windows.sizes[dim]);
      strides.push_back(windows.strides[dim]);
      low.push_back(windows.low[dim]);
    }
    // Most likely, the original pool fills its windows with this value, too.
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

  /// Returns the position of `element` in every window; -1 if it is padding.
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

  /// Returns windows of `x` along all dimensions that have windows. `sizes` are
  /// the numbers of elements per window; `shape` holds the numbers of windows.
  Value emitSeen(Value x, Value fill, Sizes sizes, Sizes shape, Sizes strides,
                 Sizes low) {
    SmallVector<int64_t> result, ones(sizes.size(), 1);
    unsigned i = 0;
    for (auto [dim, windows] : llvm::enumerate(shape)) {
      result.push_back(windows);
      if (i == sizes.size() || getDims()[i] != int64_t(dim))
        continue;
      result.push_back(sizes[i]);
      ++i;
    }
    return emitWindow(c.builder, c.op->getLoc(), Emitter::withShape(x, result),
                      x, fill, getDims(), low, strides, ones);
  }

  /// Returns `element` of every window.
  Value emitElement(Value seen, Sizes element) {
    SmallVector<int64_t> sizes(typeOf(seen).getShape()),
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

  /// Adds up, for every element, the sources of the windows that selected it.
  /// Tests all windows that may contain the element, so that no scatter is
  /// needed. Elements are grouped as described at Reach.
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
    // A later slice removes this padding.
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
  SmallVector<Reach> reaches; ///< For getDims().
  /// For each dimension, the first element of the result that is used, and the
  /// number of these elements.
  SmallVector<int64_t> begins, used;
  int64_t batch = 0, count = 1;
};
} // namespace

static Results convertSelectAndScatter(Conversion &c) {
  if (c.inType(2).getRank() != 0 ||
      c.inType(1).getRank() != c.inType().getRank())
    return c.invalid() << " expects a tensor, a source of the same rank, and a "
                          "scalar initial value";
  FailureOr<Windows> windows = readWindows(c, c.inShape(), c.inShape(1));
  if (failed(windows))
    return failure();
  if (getCombiner(c.op->getRegion(1)) != Combiner::Add)
    return c.unsupported()
           << " is only supported with a scatter region that adds";
  SelectAndScatter conversion(c, *windows);
  if (conversion.getCount() > INT32_MAX)
    return c.unsupported() << " of more than 2^31 elements is not supported";
  return conversion.run(c.op->getRegion(0));
}

static constexpr Row kSelectAndScatterRows[] = {
    {"stablehlo.select_and_scatter", 3, 1, 2, convertSelectAndScatter},
};

ArrayRef<Row> tp::stablehlo::getSelectAndScatterRows() {
  return kSelectAndScatterRows;
}
