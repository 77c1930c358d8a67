// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Gather and scatter: indices in any number of dimensions become indices along
// one dimension.
//
// An index vector is the start of a window in some dimensions of the operand.
// These dimensions are moved together and flattened. Starts, and positions
// within a window, become positions along the flattened dimension, which
// `tp.gather` and `tp.scatter` address. A single indexed dimension, as
// in an embedding, needs no flattening.
//
// Some indexed dimensions are not flattened, so that they may be sharded:
// 1. Dimensions that every window contains as a whole. If every row of a KV
//    cache is updated at its own position (jax.vmap of dynamic_update_slice),
//    there is also an index for the heads, but it is always 0.
// 2. Dimensions in which the index of index vector number i is i, such as the
//    rows in cache.at[jnp.arange(rows), positions].

#include "Conversion.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

namespace {

/// A tensor whose dimensions have labels, so that they can be reordered.
struct Labelled {
  Value value;
  SmallVector<int64_t> labels;

  /// Brings the dimensions into the order of `wanted`, which has the same
  /// labels.
  void arrange(Emitter &emit, Sizes wanted) {
    SmallVector<int64_t> permutation;
    for (int64_t label : wanted)
      permutation.push_back(llvm::find(labels, label) - labels.begin());
    if (!llvm::is_sorted(permutation))
      value = emit.transpose(value, permutation);
    labels.assign(wanted.begin(), wanted.end());
  }
};

/// The parts that gather and scatter have in common. Dimensions of the operand
/// are labelled by their number, those of the indices by kIndex + number.
struct Addressing {
  static constexpr int64_t kIndex = 1 << 20;

  SmallVector<int64_t> operandShape;
  SmallVector<int64_t> windowSizes; ///< Per dimension of the operand.
  SmallVector<int64_t> collapsed;   ///< Of size 1; not in the window.
  SmallVector<int64_t> operandBatch, indexBatch; ///< In pairs.
  /// The dimension that each entry of the index vector addresses; kCounted if
  /// the entry only counts along an index dimension.
  SmallVector<int64_t> addressed;
  static constexpr int64_t kCounted = -1;
  int64_t indexVectorDim;

  bool isAddressed(int64_t dim) const {
    return llvm::is_contained(addressed, dim);
  }
  /// Returns true if windows contain the whole dimension. Such a window is
  /// inside the operand only if it begins at 0.
  bool isWhole(int64_t dim) const {
    return !isCollapsed(dim) && windowSizes[dim] == operandShape[dim];
  }
  /// Returns the addressed dimensions, except those that windows contain as a
  /// whole.
  SmallVector<int64_t> getPicked() const {
    SmallVector<int64_t> picked;
    for (int64_t dim : addressed)
      if (dim != kCounted && !isWhole(dim))
        picked.push_back(dim);
    return picked;
  }
  bool isBatch(int64_t dim) const {
    return llvm::is_contained(operandBatch, dim);
  }
  bool isCollapsed(int64_t dim) const {
    return llvm::is_contained(collapsed, dim);
  }
  /// Returns the dimensions that are neither in getPicked() nor batch
  /// dimensions.
  SmallVector<int64_t> getRest() const {
    SmallVector<int64_t> rest;
    for (int64_t dim = 0, e = operandShape.size(); dim < e; ++dim)
      if ((!isAddressed(dim) || isWhole(dim)) && !isBatch(dim))
        rest.push_back(dim);
    return rest;
  }
  /// Returns the dimensions of the operand that a window also has, in order.
  SmallVector<int64_t> getWindowDims() const {
    SmallVector<int64_t> dims;
    for (int64_t dim = 0, e = operandShape.size(); dim < e; ++dim)
      if (!isCollapsed(dim) && !isBatch(dim))
        dims.push_back(dim);
    return dims;
  }
};

} // namespace

/// Returns true if `x` is a constant of zeros.
static bool isZero(Value x) {
  while (auto repeat = x.getDefiningOp<BroadcastOp>())
    x = repeat.getInput();
  auto constant = x.getDefiningOp<ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                        : SplatElementsAttr();
  return splat && isa<IntegerType>(splat.getElementType()) &&
         splat.getSplatValue<APInt>().isZero();
}

/// Returns true if the elements of `x` count along dimension `dim`: 0, 1, ..
/// Looks through JAX's addition of the dimension's size to negative elements.
static bool counts(Value x, int64_t dim) {
  Operation *op = x.getDefiningOp();
  if (auto iota = dyn_cast_if_present<IotaOp>(op))
    return int64_t(iota.getDim()) == dim &&
           typeOf(x).getElementTypeBitWidth() >= 32;
  if (auto convert = dyn_cast_if_present<ConvertOp>(op))
    return typeOf(x).getElementTypeBitWidth() >= 32 &&
           counts(convert.getInput(), dim);
  if (auto repeat = dyn_cast_if_present<BroadcastOp>(op)) {
    const auto *from = llvm::find(repeat.getDims(), dim);
    return from != repeat.getDims().end() &&
           counts(repeat.getInput(), from - repeat.getDims().begin());
  }
  if (auto reshape = dyn_cast_if_present<ReshapeOp>(op)) {
    // Dimensions of size 1 may be added and dropped.
    auto getOthers = [](Value value) {
      SmallVector<int64_t> dims;
      for (auto [i, size] : llvm::enumerate(typeOf(value).getShape()))
        if (size != 1)
          dims.push_back(i);
      return dims;
    };
    SmallVector<int64_t> to = getOthers(x),
                         from = getOthers(reshape.getInput());
    const auto *place = llvm::find(to, dim);
    if (place == to.end() || to.size() != from.size())
      return false;
    for (auto [a, b] : llvm::zip_equal(to, from))
      if (typeOf(x).getDimSize(a) != typeOf(reshape.getInput()).getDimSize(b))
        return false;
    return counts(reshape.getInput(), from[place - to.begin()]);
  }
  if (auto select = dyn_cast_if_present<SelectOp>(op)) {
    auto below = select.getCondition().getDefiningOp<CompareOp>();
    return below && below.getPredicate() == ComparePredicate::LT &&
           isZero(below.getRhs()) && counts(below.getLhs(), dim) &&
           counts(select.getOnFalse(), dim);
  }
  return false;
}

/// If an entry of the index vectors only counts along a dimension of the
/// indices, makes that dimension and the addressed dimension of the operand a
/// pair of batch dimensions.
static void pairCounted(Conversion &c, Addressing &a) {
  auto entries = c.in(1).getDefiningOp<ConcatOp>();
  if (!entries || int64_t(entries.getDim()) != a.indexVectorDim ||
      entries.getInputs().size() != a.addressed.size())
    return;
  for (auto [dim, entry] : llvm::zip_equal(a.addressed, entries.getInputs()))
    for (int64_t index = 0, e = c.inType(1).getRank(); index < e; ++index) {
      if (index == a.indexVectorDim || !a.isCollapsed(dim) ||
          llvm::is_contained(a.indexBatch, index) ||
          c.inShape(1)[index] != a.operandShape[dim] || !counts(entry, index))
        continue;
      llvm::erase(a.collapsed, dim);
      a.operandBatch.push_back(dim);
      a.indexBatch.push_back(index);
      dim = Addressing::kCounted;
      break;
    }
}

/// Reads and checks the attributes that gather and scatter share under
/// different names.
static FailureOr<Addressing> readAddressing(Conversion &c,
                                            const Fields &numbers,
                                            bool isGather, Sizes windowSizes) {
  Addressing a;
  a.operandShape.assign(c.inShape(0).begin(), c.inShape(0).end());
  a.windowSizes.assign(windowSizes.begin(), windowSizes.end());
  int64_t rank = c.inType(0).getRank(), indexRank = c.inType(1).getRank();
  auto collapsed = numbers.getDims(
           isGather ? "collapsed_slice_dims" : "inserted_window_dims", rank),
       operandBatch = numbers.getDims(
           isGather ? "operand_batching_dims" : "input_batching_dims", rank),
       indexBatch = numbers.getDims(isGather ? "start_indices_batching_dims"
                                             : "scatter_indices_batching_dims",
                                    indexRank),
       addressed = numbers.getDims(
           isGather ? "start_index_map" : "scatter_dims_to_operand_dims", rank);
  auto vectorDim = numbers.getInteger("index_vector_dim", 0);
  if (failed(collapsed) || failed(operandBatch) || failed(indexBatch) ||
      failed(addressed) || failed(vectorDim))
    return failure();
  a.collapsed = *collapsed;
  a.operandBatch = *operandBatch;
  a.indexBatch = *indexBatch;
  a.addressed = *addressed;
  a.indexVectorDim = *vectorDim;
  if (*vectorDim < 0 || *vectorDim > indexRank ||
      int64_t(addressed->size()) !=
          (*vectorDim == indexRank ? 1 : c.inShape(1)[*vectorDim]))
    return c.invalid()
           << " expects index vectors with an entry for each dimension in "
              "`start_index_map` or `scatter_dims_to_operand_dims`";
  if (operandBatch->size() != indexBatch->size())
    return c.invalid() << " expects the operand and the indices to have the "
                          "same number of batching dimensions";
  for (auto [dim, index] : llvm::zip_equal(*operandBatch, *indexBatch))
    if (a.isCollapsed(dim) || a.isAddressed(dim) || index == *vectorDim ||
        c.inShape(0)[dim] != c.inShape(1)[index])
      return c.invalid()
             << " expects each batching dimension of the operand to be as "
                "large as that of the indices, and not to be collapsed, "
                "indexed or used for the index vectors";
  for (auto [dim, size] : llvm::enumerate(a.windowSizes)) {
    // A scatter has no window sizes for collapsed and batch dimensions. These
    // may have size 0, and then every update is dropped.
    bool isSaid = isGather || (!a.isCollapsed(dim) && !a.isBatch(dim));
    if (isSaid && (size < 0 || size > a.operandShape[dim] ||
                   (size != 1 && (a.isCollapsed(dim) || a.isBatch(dim)))))
      return c.invalid() << " has a window that does not fit dimension " << dim;
  }
  if (!isa<IntegerType>(c.inType(1).getElementType()))
    return c.invalid() << " expects integer indices";
  pairCounted(c, a);
  return a;
}

/// In dimensions that no index addresses, windows begin at 0. If the windows do
/// not contain the whole dimension, the dimension is handled as if an index of
/// 0 addressed it.
static SmallVector<int64_t> getFixed(const Addressing &a) {
  SmallVector<int64_t> fixed;
  for (int64_t dim : a.getRest())
    if (a.windowSizes[dim] != a.operandShape[dim])
      fixed.push_back(dim);
  return fixed;
}

/// Returns entry `k` of every index vector, as one tensor of i32 or i64. The
/// dimensions of this tensor are labelled.
static Labelled emitEntry(Conversion &c, const Addressing &a, int64_t k) {
  Value x = c.in(1);
  SmallVector<int64_t> shape(c.inShape(1));
  Labelled entry{x, {}};
  for (int64_t dim = 0, e = shape.size(); dim < e; ++dim)
    if (dim != a.indexVectorDim)
      entry.labels.push_back(Addressing::kIndex + dim);
  if (a.indexVectorDim < int64_t(shape.size())) {
    SmallVector<int64_t> starts(shape.size(), 0);
    starts[a.indexVectorDim] = k;
    shape[a.indexVectorDim] = 1;
    x = c.emit.slice(x, starts, shape);
    shape.erase(shape.begin() + a.indexVectorDim);
    x = c.emit.reshape(x, shape);
  }
  // Narrow types may be unable to hold sizes.
  if (typeOf(x).getElementTypeBitWidth() < 32)
    x = c.emit.convert(x, c.builder.getI32Type());
  entry.value = x;
  return entry;
}

namespace {
/// Positions along the flattened dimension.
struct Places {
  /// [batch.., other index dimensions.., window..]
  Labelled places;
  /// True for each window that is inside the operand; null if all are.
  Value inside;
};
} // namespace

/// Returns the labels of the index dimensions, batch dimensions first.
static SmallVector<int64_t> getIndexOrder(Conversion &c, const Addressing &a) {
  SmallVector<int64_t> order;
  for (int64_t dim : a.indexBatch)
    order.push_back(Addressing::kIndex + dim);
  for (int64_t dim = 0; dim < c.inType(1).getRank(); ++dim)
    if (dim != a.indexVectorDim && !llvm::is_contained(a.indexBatch, dim))
      order.push_back(Addressing::kIndex + dim);
  return order;
}

/// Returns the positions along the dimension that `dims` are flattened to, for
/// all elements of a window. With `clamps`, starts are moved so that windows
/// are inside the operand.
static FailureOr<Places> emitPlaces(Conversion &c, const Addressing &a,
                                    Sizes dims, bool clamps) {
  int64_t total = 1;
  for (int64_t dim : dims)
    total *= a.operandShape[dim];
  Type type = total < INT32_MAX ? Type(c.builder.getI32Type())
                                : Type(c.builder.getI64Type());
  SmallVector<int64_t> order = getIndexOrder(c, a), shape;
  for (int64_t label : order)
    shape.push_back(c.inShape(1)[label - Addressing::kIndex]);

  Places result;
  Value sum;
  int64_t stride = total;
  auto add = [&](Value &to, Value term) {
    to = to ? c.emit.binary<AddOp>(to, term) : term;
  };
  auto times = [&](Value x, int64_t factor) {
    return factor == 1 ? x
                       : c.emit.binary<MulOp>(x, c.emit.constant(factor, x));
  };
  // Returns where windows begin along an addressed dimension.
  auto getStart = [&](int64_t dim) {
    Labelled entry =
        emitEntry(c, a, llvm::find(a.addressed, dim) - a.addressed.begin());
    entry.arrange(c.emit, order);
    Value start = entry.value;
    int64_t last = a.operandShape[dim] - a.windowSizes[dim];
    if (last > INT32_MAX && typeOf(start).getElementTypeBitWidth() < 64)
      start = c.emit.convert(start, c.builder.getI64Type());
    Value low = c.emit.constant(0, start), high = c.emit.constant(last, start);
    if (clamps)
      return c.emit.binary<MinOp>(c.emit.binary<MaxOp>(start, low), high);
    Value fits =
        c.emit.binary<AndOp>(c.emit.compare(ComparePredicate::GE, start, low),
                             c.emit.compare(ComparePredicate::LE, start, high));
    result.inside =
        result.inside ? c.emit.binary<AndOp>(result.inside, fits) : fits;
    return start;
  };
  SmallVector<int64_t> strides;
  for (int64_t dim : dims) {
    stride /= std::max<int64_t>(a.operandShape[dim], 1);
    strides.push_back(stride);
    if (a.isAddressed(dim))
      add(sum, times(c.emit.convert(getStart(dim), type), stride));
  }
  // Along addressed dimensions not in `dims`, only checks that windows fit.
  if (!clamps)
    for (int64_t dim : a.addressed)
      if (dim != Addressing::kCounted && !llvm::is_contained(dims, dim))
        getStart(dim);
  if (!sum)
    sum = c.emit.constant(0, RankedTensorType::get(shape, type));
  // Appends the dimensions of the window to those of the indices.
  SmallVector<int64_t> full(shape), labels(order),
      outer = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  for (int64_t dim : dims)
    if (!a.isCollapsed(dim)) {
      labels.push_back(dim);
      full.push_back(a.windowSizes[dim]);
    }
  if (full.size() > shape.size()) {
    sum = c.emit.broadcast(sum, full, outer);
    if (result.inside)
      result.inside = c.emit.broadcast(result.inside, full, outer);
    unsigned position = shape.size();
    for (auto [dim, by] : llvm::zip_equal(dims, strides)) {
      if (a.isCollapsed(dim))
        continue;
      if (a.windowSizes[dim] > 1)
        add(sum, times(c.emit.iota(position, full, type), by));
      ++position;
    }
  }
  result.places = {sum, labels};
  return result;
}

/// Returns the operand as [batch.., flattened, rest..], with the labels that
/// its dimensions had before.
static Labelled emitFlattened(Conversion &c, const Addressing &a, Sizes dims,
                              Sizes rest) {
  Labelled x{c.in(0), {}};
  x.labels = llvm::to_vector(llvm::seq<int64_t>(0, a.operandShape.size()));
  SmallVector<int64_t> order(a.operandBatch), shape;
  llvm::append_range(order, dims);
  llvm::append_range(order, rest);
  x.arrange(c.emit, order);
  for (int64_t dim : a.operandBatch)
    shape.push_back(a.operandShape[dim]);
  shape.push_back(1);
  for (int64_t dim : dims)
    shape.back() *= a.operandShape[dim];
  for (int64_t dim : rest)
    shape.push_back(a.operandShape[dim]);
  x.value = c.emit.reshape(x.value, shape);
  return x;
}

/// Returns the labels of a gather's result, or of a scatter's updates. The
/// dimensions `windowPositions` get the labels of the window's dimensions, in
/// order. The others get those of the indices' dimensions, in order.
static FailureOr<SmallVector<int64_t>> getWindowLabels(Conversion &c,
                                                       const Addressing &a,
                                                       Sizes windowPositions,
                                                       int64_t rank) {
  SmallVector<int64_t> windowDims = a.getWindowDims();
  SmallVector<int64_t> indexDims;
  for (int64_t dim = 0; dim < c.inType(1).getRank(); ++dim)
    if (dim != a.indexVectorDim)
      indexDims.push_back(Addressing::kIndex + dim);
  if (windowPositions.size() != windowDims.size() ||
      int64_t(windowDims.size() + indexDims.size()) != rank)
    return c.invalid()
           << " expects the result of a gather, or the updates of a scatter, "
              "to have one dimension for each dimension of the window and one "
              "for each dimension of the indices";
  SmallVector<int64_t> labels, sorted(windowPositions);
  llvm::sort(sorted);
  auto nextWindow = windowDims.begin(), nextIndex = indexDims.begin();
  for (int64_t position = 0; position < rank; ++position)
    labels.push_back(llvm::is_contained(windowPositions, position)
                         ? *nextWindow++
                         : *nextIndex++);
  return labels;
}

/// Marks the batch dimensions of `op` that pairCounted() has made. They are the
/// last batch dimensions.
static void markCounted(const Addressing &a, Operation *op) {
  int64_t end = a.operandBatch.size(),
          count = llvm::count(a.addressed, Addressing::kCounted);
  if (count != 0)
    op->setAttr(kCountedAttr,
                DenseI64ArrayAttr::get(
                    op->getContext(),
                    llvm::to_vector(llvm::seq<int64_t>(end - count, end))));
}

static Results convertGather(Conversion &c) {
  FailureOr<Fields> numbers = c.getStructure("dimension_numbers");
  if (failed(numbers))
    return failure();
  auto sizes = c.getList("slice_sizes", c.inType(0).getRank());
  auto offsets = numbers->getDims("offset_dims", c.outType().getRank());
  if (failed(sizes) || failed(offsets))
    return failure();
  FailureOr<Addressing> a =
      readAddressing(c, *numbers, /*isGather=*/true, *sizes);
  if (failed(a))
    return failure();
  auto labels = getWindowLabels(c, *a, *offsets, c.outType().getRank());
  if (failed(labels))
    return failure();
  if (llvm::is_contained(a->operandShape, 0))
    return c.unsupported() << " from an empty tensor is not supported";
  SmallVector<int64_t> picked = a->getPicked(), rest = a->getRest();
  FailureOr<Places> places = emitPlaces(c, *a, picked, /*clamps=*/true);
  if (failed(places))
    return failure();
  Labelled x = emitFlattened(c, *a, picked, rest);
  int64_t axis = a->operandBatch.size();
  // Removes elements of the other dimensions that are outside of the window.
  SmallVector<int64_t> shape(typeOf(x.value).getShape()),
      starts(shape.size(), 0);
  for (auto [i, dim] : llvm::enumerate(rest))
    shape[axis + 1 + i] = a->windowSizes[dim];
  if (Sizes(shape) != typeOf(x.value).getShape())
    x.value = c.emit.slice(x.value, starts, shape);
  Labelled y{c.emit.gather(x.value, places->places.value, axis, axis),
             places->places.labels};
  markCounted(*a, y.value.getDefiningOp());
  SmallVector<int64_t> kept;
  for (int64_t dim : rest)
    if (!a->isCollapsed(dim))
      kept.push_back(dim);
  SmallVector<int64_t> keptShape(typeOf(places->places.value).getShape());
  for (int64_t dim : kept)
    keptShape.push_back(a->windowSizes[dim]);
  y.value = c.emit.reshape(y.value, keptShape);
  llvm::append_range(y.labels, kept);
  y.arrange(c.emit, *labels);
  return c.one(y.value);
}

/// Returns how updates combine; negates updates that are subtracted.
static FailureOr<ScatterKind> getScatterKind(Conversion &c, Value &updates) {
  Region &region = c.op->getRegion(0);
  bool isBool = c.outElement().isInteger(1);
  if (std::optional<Combiner> combiner = getCombiner(region))
    switch (*combiner) {
    case Combiner::Second:
      return ScatterKind::Set;
    case Combiner::Add:
      return ScatterKind::Add;
    case Combiner::Mul:
      return ScatterKind::Mul;
    case Combiner::Max:
      return ScatterKind::Max;
    case Combiner::Min:
      return ScatterKind::Min;
    case Combiner::And:
      if (isBool)
        return ScatterKind::Min;
      break;
    case Combiner::Or:
      if (isBool)
        return ScatterKind::Max;
      break;
    }
  // Subtracts by adding the negative.
  if (Operation *end = getReturn(region);
      end && end->getNumOperands() == 1 && region.getNumArguments() == 2)
    if (auto sub = end->getOperand(0).getDefiningOp<SubOp>();
        sub && sub.getLhs() == region.getArgument(0) &&
        sub.getRhs() == region.getArgument(1)) {
      updates = c.emit.unary<NegOp>(updates);
      return ScatterKind::Add;
    }
  return c.unsupported()
         << " is only supported with a region that replaces, adds, subtracts, "
            "multiplies, or takes the maximum or minimum";
}

static Results convertScatter(Conversion &c) {
  if (c.op->getNumOperands() != 3 || c.op->getNumResults() != 1)
    return c.unsupported() << " into several tensors at once is not supported; "
                              "write one scatter for each tensor";
  FailureOr<Fields> numbers = c.getStructure("scatter_dimension_numbers");
  if (failed(numbers))
    return failure();
  int64_t rank = c.inType(0).getRank(), updateRank = c.inType(2).getRank();
  auto windowDims = numbers->getDims("update_window_dims", updateRank),
       inserted = numbers->getDims("inserted_window_dims", rank),
       batching = numbers->getDims("input_batching_dims", rank);
  if (failed(windowDims) || failed(inserted) || failed(batching))
    return failure();
  // The sizes of windows follow from the updates.
  SmallVector<int64_t> sizes(rank, 1), positions(*windowDims);
  llvm::sort(positions);
  auto next = positions.begin();
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(*inserted, dim) &&
        !llvm::is_contained(*batching, dim)) {
      if (next == positions.end())
        return c.invalid() << " expects an update window dimension for each "
                              "dimension of the operand that is neither "
                              "inserted nor a batching dimension";
      sizes[dim] = c.inShape(2)[*next++];
    }
  FailureOr<Addressing> a =
      readAddressing(c, *numbers, /*isGather=*/false, sizes);
  if (failed(a))
    return failure();
  auto labels = getWindowLabels(c, *a, *windowDims, updateRank);
  if (failed(labels))
    return failure();
  Value updates = c.in(2);
  FailureOr<ScatterKind> kind = getScatterKind(c, updates);
  if (failed(kind))
    return failure();
  if (llvm::is_contained(a->operandShape, 0))
    return c.one(c.in(0));
  SmallVector<int64_t> dims = a->getPicked(), fixed = getFixed(*a), rest;
  // In a collapsed dimension that no index addresses, windows are at index 0.
  for (int64_t dim : a->getRest())
    if (a->isCollapsed(dim) && !llvm::is_contained(fixed, dim))
      fixed.push_back(dim);
  llvm::append_range(dims, fixed);
  for (int64_t dim : a->getRest())
    if (!llvm::is_contained(fixed, dim))
      rest.push_back(dim);
  FailureOr<Places> places = emitPlaces(c, *a, dims, /*clamps=*/false);
  if (failed(places))
    return failure();
  Value at = places->places.value;
  // A window that is not entirely inside is dropped as a whole.
  if (places->inside)
    at = c.emit.select(places->inside, at, c.emit.constant(-1, at));
  Labelled update{updates, *labels};
  SmallVector<int64_t> order = places->places.labels;
  llvm::append_range(order, rest);
  update.arrange(c.emit, order);
  Labelled x = emitFlattened(c, *a, dims, rest);
  bool isBool = c.outElement().isInteger(1) && *kind != ScatterKind::Set;
  Type i8 = c.builder.getIntegerType(8);
  if (isBool) {
    x.value = c.emit.convert(x.value, i8);
    update.value = c.emit.convert(update.value, i8);
  }
  int64_t axis = a->operandBatch.size();
  Value y = ScatterOp::create(c.builder, c.op->getLoc(), x.value.getType(),
                              *kind, x.value, at, update.value, axis, axis);
  markCounted(*a, y.getDefiningOp());
  if (isBool)
    y = c.emit.convert(y, c.outElement());
  SmallVector<int64_t> shape;
  for (int64_t dim : x.labels)
    shape.push_back(a->operandShape[dim]);
  Labelled result{c.emit.reshape(y, shape), x.labels};
  SmallVector<int64_t> natural = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  result.arrange(c.emit, natural);
  return c.one(result.value);
}

static constexpr Row kIndexingRows[] = {
    {"stablehlo.gather", 2, 1, 0, convertGather},
    {"stablehlo.scatter", -1, -1, 1, convertScatter},
};

ArrayRef<Row> tp::stablehlo::getIndexingRows() { return kIndexingRows; }
