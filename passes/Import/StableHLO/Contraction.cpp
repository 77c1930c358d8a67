// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Contractions and convolutions: every one is a tp.einsum.

#include "Conversion.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

namespace {
/// Hands out letters, of which an equation has 52.
class Letters {
public:
  char next() {
    return count < 26 ? char('a' + count++) : char('A' + count++ - 26);
  }
  bool areEnough() const { return count <= 52; }

private:
  unsigned count = 0;
};
} // namespace

/// `lhs,rhs->result` in the element type of the operation: operands of two
/// types meet in the result's.
static Results emitEinsum(Conversion &c, Value lhs, Value rhs,
                          const std::string &equation, Sizes shape) {
  Type element = c.outElement();
  auto widthOf = [](Type type) { return type.getIntOrFloatBitWidth(); };
  bool isBool = element.isInteger(1);
  // Products of truth values are "and", their sums "or".
  Type compute = isBool ? Type(c.builder.getI32Type()) : element;
  Type left = Emitter::typeOf(lhs).getElementType(),
       right = Emitter::typeOf(rhs).getElementType();
  bool isWider =
      left == right && isa<FloatType>(left) == isa<FloatType>(compute);
  if (isWider && widthOf(left) > widthOf(compute))
    compute = left;
  if (!isWider || left.isInteger(1)) {
    lhs = c.emit.convert(lhs, compute);
    rhs = c.emit.convert(rhs, compute);
  }
  Value sum = EinsumOp::create(c.builder, c.op->getLoc(),
                               RankedTensorType::get(shape, compute), equation,
                               lhs, rhs);
  return c.one(c.emit.convert(sum, element));
}

static Results convertDotGeneral(Conversion &c) {
  FailureOr<Fields> numbers = c.getStructure("dot_dimension_numbers");
  if (failed(numbers))
    return failure();
  int64_t lhsRank = c.inType(0).getRank(), rhsRank = c.inType(1).getRank();
  auto lhsBatch = numbers->getDims("lhs_batching_dimensions", lhsRank),
       rhsBatch = numbers->getDims("rhs_batching_dimensions", rhsRank),
       lhsSum = numbers->getDims("lhs_contracting_dimensions", lhsRank),
       rhsSum = numbers->getDims("rhs_contracting_dimensions", rhsRank);
  if (failed(lhsBatch) || failed(rhsBatch) || failed(lhsSum) || failed(rhsSum))
    return failure();
  if (lhsBatch->size() != rhsBatch->size() || lhsSum->size() != rhsSum->size())
    return c.invalid() << " pairs dimensions of both operands";
  Letters letters;
  std::string lhs(lhsRank, ' '), rhs(rhsRank, ' '), result;
  SmallVector<int64_t> shape;
  for (auto [l, r] : llvm::zip_equal(*lhsBatch, *rhsBatch)) {
    lhs[l] = rhs[r] = letters.next();
    result += lhs[l];
    shape.push_back(c.inShape(0)[l]);
  }
  for (auto [l, r] : llvm::zip_equal(*lhsSum, *rhsSum)) {
    if (lhs[l] != ' ' || rhs[r] != ' ')
      return c.invalid() << " pairs a dimension twice";
    lhs[l] = rhs[r] = letters.next();
  }
  auto addFree = [&](std::string &term, Sizes sizes) {
    for (auto [dim, letter] : llvm::enumerate(term))
      if (letter == ' ') {
        letter = letters.next();
        result += letter;
        shape.push_back(sizes[dim]);
      }
  };
  addFree(lhs, c.inShape(0));
  addFree(rhs, c.inShape(1));
  if (!letters.areEnough())
    return c.unsupported() << " of more than 52 dimensions";
  return emitEinsum(c, c.in(0), c.in(1), lhs + "," + rhs + "->" + result,
                    shape);
}

/// The last dimension of the left with the first of the right.
static Results convertDot(Conversion &c) {
  int64_t lhsRank = c.inType(0).getRank(), rhsRank = c.inType(1).getRank();
  if (lhsRank < 1 || lhsRank > 2 || rhsRank < 1 || rhsRank > 2)
    return c.invalid() << " takes vectors and matrices";
  std::string lhs = lhsRank == 1 ? "k" : "ik", rhs = rhsRank == 1 ? "k" : "kj";
  std::string result;
  SmallVector<int64_t> shape;
  if (lhsRank == 2) {
    result += 'i';
    shape.push_back(c.inShape(0)[0]);
  }
  if (rhsRank == 2) {
    result += 'j';
    shape.push_back(c.inShape(1)[1]);
  }
  return emitEinsum(c, c.in(0), c.in(1), lhs + "," + rhs + "->" + result,
                    shape);
}

/// `config` is an equation of letters with one or two operands.
static Results convertEinsum(Conversion &c) {
  StringRef equation = c.getWord("einsum_config");
  if (equation.contains('.') || equation.contains(' '))
    return c.unsupported() << " with the equation \"" << equation
                           << "\": name every dimension by a letter";
  return emitEinsum(c, c.in(0), c.in(1), equation.str(), c.outShape());
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

namespace {
/// Which dimension of a tensor is what: two named ones, and the spatial ones in
/// their order.
struct Labels {
  int64_t first = -1, second = -1;
  SmallVector<int64_t> spatial;
};

/// One spatial dimension of the window.
struct Window {
  int64_t stride, low, high, lhsDilation, rhsDilation;
  bool reversed;
  int64_t input, kernel, output;

  /// Where in the input element k of the window reads for element o of the
  /// output; -1 for padding.
  int64_t getSource(int64_t o, int64_t k) const {
    int64_t at =
        o * stride + (reversed ? kernel - 1 - k : k) * rhsDilation - low;
    if (at < 0 || at % lhsDilation || at / lhsDilation >= input)
      return -1;
    return at / lhsDilation;
  }
  /// Whether windows stand side by side: a patch is then a split dimension.
  bool isTiling() const {
    return stride == kernel && low == 0 && lhsDilation == 1 &&
           rhsDilation == 1 && !reversed && output * stride == input;
  }
  bool isPointwise() const {
    return kernel == 1 && stride == 1 && low == 0 && lhsDilation == 1 &&
           output == input;
  }
};
} // namespace

static FailureOr<Labels> readLabels(Conversion &c, const Fields &numbers,
                                    StringRef which, char first, char second,
                                    int64_t rank) {
  auto words = dyn_cast_or_null<ArrayAttr>(numbers.get(which));
  auto bad = [&] {
    return c.invalid() << " labels every dimension in `dimension_numbers`, as "
                          "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]";
  };
  if (!words || int64_t(words.size()) != rank || rank < 2)
    return bad();
  Labels labels;
  labels.spatial.assign(rank - 2, -1);
  for (auto [dim, word] : llvm::enumerate(words)) {
    int64_t *target = nullptr;
    if (auto letter = dyn_cast<StringAttr>(word))
      target = letter == StringRef(&first, 1)    ? &labels.first
               : letter == StringRef(&second, 1) ? &labels.second
                                                 : nullptr;
    else if (auto number = dyn_cast<IntegerAttr>(word);
             number && number.getInt() >= 0 && number.getInt() < rank - 2)
      target = &labels.spatial[number.getInt()];
    if (!target || *target >= 0)
      return bad();
    *target = dim;
  }
  return labels;
}

static FailureOr<SmallVector<Window>> readWindows(Conversion &c,
                                                  const Labels &lhs,
                                                  const Labels &rhs,
                                                  const Labels &result) {
  size_t rank = lhs.spatial.size();
  auto strides = c.getList("window_strides", rank, 1),
       padding = c.getList("padding", 2 * rank, 0),
       lhsDilation = c.getList("lhs_dilation", rank, 1),
       rhsDilation = c.getList("rhs_dilation", rank, 1),
       reversal = c.getList("window_reversal", rank, 0);
  if (failed(strides) || failed(padding) || failed(lhsDilation) ||
      failed(rhsDilation) || failed(reversal))
    return failure();
  constexpr int64_t kMaxPlaces = 1 << 24;
  SmallVector<Window> windows;
  for (size_t i = 0; i < rank; ++i) {
    Window window{(*strides)[i],
                  (*padding)[2 * i],
                  (*padding)[2 * i + 1],
                  (*lhsDilation)[i],
                  (*rhsDilation)[i],
                  (*reversal)[i] != 0,
                  c.inShape(0)[lhs.spatial[i]],
                  c.inShape(1)[rhs.spatial[i]],
                  c.outShape()[result.spatial[i]]};
    for (int64_t number :
         {window.stride, window.lhsDilation, window.rhsDilation, window.input,
          window.kernel, window.output})
      if (number < 0 || number > kLarge)
        return c.invalid() << " has a window beyond all bounds";
    if (window.stride < 1 || window.lhsDilation < 1 || window.rhsDilation < 1 ||
        isLarge(window.low) || isLarge(window.high))
      return c.invalid() << " has a window beyond all bounds";
    int64_t padded =
        window.low + window.high +
        std::max<int64_t>((window.input - 1) * window.lhsDilation + 1, 0);
    int64_t reach = (window.kernel - 1) * window.rhsDilation + 1;
    int64_t output = padded < reach ? 0 : (padded - reach) / window.stride + 1;
    if (output != window.output)
      return c.invalid() << " gives " << output << " windows along dimension "
                         << result.spatial[i] << ", not " << window.output;
    if (window.output * window.kernel > kMaxPlaces)
      return c.unsupported() << " of more than 2^24 places in a dimension";
    windows.push_back(window);
  }
  return windows;
}

/// `count` rows of `x` from `start` on, with zeros outside of it.
static Value emitRows(Conversion &c, Value x, int64_t dim, int64_t start,
                      int64_t count) {
  int64_t size = Emitter::typeOf(x).getDimSize(dim);
  int64_t before = std::max<int64_t>(0, -start);
  int64_t after = std::max<int64_t>(0, start + count - size);
  if (before > 0 || after > 0)
    x = c.emit.pad(x, dim, before, size + before + after);
  SmallVector<int64_t> sizes(Emitter::typeOf(x).getShape()),
      starts(sizes.size(), 0);
  starts[dim] = start + before;
  sizes[dim] = count;
  return c.emit.slice(x, starts, sizes);
}

/// The elements of `x` that element `k` of the window reads, one per window,
/// with zeros outside of the input: a shift of the input by whole strides, as
/// long as it is as a rule, and of that every `stride`-th element. Where
/// strides divide blocks, the shift alone crosses their borders.
static Value emitShift(Conversion &c, Value x, int64_t dim,
                       const Window &window, int64_t k) {
  int64_t reads = window.output * window.stride;
  int64_t first =
      (window.reversed ? window.kernel - 1 - k : k) * window.rhsDilation -
      window.low;
  int64_t spread = window.lhsDilation;
  if (spread > 1 && window.stride == 1) {
    // The input's rows are shifted, and each is read at the same place of those
    // that it is spread to.
    int64_t start = llvm::divideCeilSigned(first, spread);
    Value rows =
        emitRows(c, x, dim, start, llvm::divideCeil(window.output, spread));
    Value zero = c.emit.constant(
        0, RankedTensorType::get({}, Emitter::typeOf(x).getElementType()));
    rows = emitSpread(c, rows, zero, dim, spread, start * spread - first);
    return emitRows(c, rows, dim, 0, window.output);
  }
  if (spread > 1) {
    Value zero = c.emit.constant(
        0, RankedTensorType::get({}, Emitter::typeOf(x).getElementType()));
    x = emitSpread(c, x, zero, dim, spread, /*at=*/0);
  }
  int64_t start = llvm::divideFloorSigned(first, window.stride) * window.stride;
  x = emitRows(c, x, dim, start, reads);
  if (window.stride == 1)
    return x;
  SmallVector<int64_t> limits(Emitter::typeOf(x).getShape()),
      starts(limits.size(), 0), strides(limits.size(), 1);
  starts[dim] = first - start;
  strides[dim] = window.stride;
  return c.emit.slice(x, starts, limits, strides);
}

/// The input's spatial dimension `dim` as [output, kernel].
static Value emitPatches(Conversion &c, Value x, int64_t dim,
                         const Window &window) {
  SmallVector<int64_t> shape(Emitter::typeOf(x).getShape());
  if (window.isTiling() || window.isPointwise()) {
    shape[dim] = window.output;
    shape.insert(shape.begin() + dim + 1, window.kernel);
    return c.emit.reshape(x, shape);
  }
  if (window.kernel <= kMostShifts && window.kernel > 0 && window.output > 0) {
    SmallVector<Value> shifts;
    shape[dim] = window.output;
    shape.insert(shape.begin() + dim + 1, 1);
    for (int64_t k = 0; k < window.kernel; ++k)
      shifts.push_back(c.emit.reshape(emitShift(c, x, dim, window, k), shape));
    return c.emit.concat(shifts, dim + 1);
  }
  SmallVector<int32_t> sources;
  for (int64_t o = 0; o < window.output; ++o)
    for (int64_t k = 0; k < window.kernel; ++k)
      sources.push_back(window.getSource(o, k));
  auto type = RankedTensorType::get({window.output, window.kernel},
                                    c.builder.getI32Type());
  Value indices = ConstantOp::create(
      c.builder, c.op->getLoc(), type,
      DenseElementsAttr::get(type, ArrayRef<int32_t>(sources)));
  // What lies outside is 0, as padding is.
  return c.emit.gather(x, indices, dim, /*batchDims=*/0);
}

/// Splits dimension `dim` into [groups, rest].
static Value splitGroups(Emitter &emit, Value x, int64_t dim, int64_t groups) {
  SmallVector<int64_t> shape(Emitter::typeOf(x).getShape());
  shape[dim] /= groups;
  shape.insert(shape.begin() + dim, groups);
  return emit.reshape(x, shape);
}

static Results convertConvolution(Conversion &c) {
  FailureOr<Fields> numbers = c.getStructure("dimension_numbers");
  auto featureGroups = c.getInteger("feature_group_count", 1),
       batchGroups = c.getInteger("batch_group_count", 1);
  if (failed(numbers) || failed(featureGroups) || failed(batchGroups))
    return failure();
  auto lhs = readLabels(c, *numbers, "lhs", 'b', 'f', c.inType(0).getRank());
  if (failed(lhs))
    return failure();
  auto rhs = readLabels(c, *numbers, "rhs", 'i', 'o', c.inType(1).getRank());
  if (failed(rhs))
    return failure();
  auto result =
      readLabels(c, *numbers, "result", 'b', 'f', c.outType().getRank());
  if (failed(result))
    return failure();
  if (lhs->spatial.size() != rhs->spatial.size() ||
      lhs->spatial.size() != result->spatial.size())
    return c.invalid() << " has tensors of one rank";
  auto windows = readWindows(c, *lhs, *rhs, *result);
  if (failed(windows))
    return failure();
  int64_t features = c.inShape(0)[lhs->second],
          batch = c.inShape(0)[lhs->first], inputs = c.inShape(1)[rhs->first],
          outputs = c.inShape(1)[rhs->second];
  if (*featureGroups < 1 || *batchGroups < 1 ||
      *featureGroups > std::max<int64_t>(features, 1) ||
      *batchGroups > std::max<int64_t>(batch, 1) ||
      (*featureGroups > 1 && *batchGroups > 1) || features % *featureGroups ||
      inputs != features / *featureGroups || outputs % *featureGroups ||
      outputs % *batchGroups || batch % *batchGroups)
    return c.invalid() << " has groups that do not divide its features";
  if (windows->size() > 10)
    return c.unsupported() << " of more than 10 spatial dimensions";
  if (isEmpty(c.inType(0)) || isEmpty(c.inType(1))) // sums of nothing
    return c.one(c.emit.constant(0, c.outType()));

  // Letters: n batch, c input features, m output features, g groups; then a
  // pair for each spatial dimension. The first dimension first: devices then
  // send rows of the image over its border, not rows of patches, which repeat
  // them.
  std::string lhsTerm(c.inType(0).getRank(), ' '),
      rhsTerm(c.inType(1).getRank(), ' '), resultTerm(lhsTerm.size(), ' ');
  lhsTerm[lhs->first] = 'n';
  lhsTerm[lhs->second] = rhsTerm[rhs->first] = 'c';
  rhsTerm[rhs->second] = resultTerm[result->second] = 'm';
  resultTerm[result->first] = 'n';
  SmallVector<std::pair<int64_t, unsigned>> spatial;
  for (unsigned i = 0; i < windows->size(); ++i) {
    lhsTerm[lhs->spatial[i]] = resultTerm[result->spatial[i]] = char('A' + i);
    rhsTerm[rhs->spatial[i]] = char('N' + i);
    spatial.push_back({lhs->spatial[i], i});
  }
  llvm::sort(spatial);
  Value x = c.in(0), kernel = c.in(1);
  int64_t added = 0;
  for (auto [from, i] : spatial) {
    int64_t dim = from + added++;
    x = emitPatches(c, x, dim, (*windows)[i]);
    lhsTerm.insert(dim + 1, 1, char('N' + i));
  }
  bool isGrouped = *featureGroups > 1 || *batchGroups > 1;
  SmallVector<int64_t> shape(c.outShape());
  if (isGrouped) {
    int64_t groups = std::max(*featureGroups, *batchGroups);
    char split = *featureGroups > 1 ? 'c' : 'n';
    x = splitGroups(c.emit, x, lhsTerm.find(split), groups);
    lhsTerm.insert(lhsTerm.find(split), 1, 'g');
    kernel = splitGroups(c.emit, kernel, rhsTerm.find('m'), groups);
    rhsTerm.insert(rhsTerm.find('m'), 1, 'g');
    size_t at = resultTerm.find('m');
    resultTerm.insert(at, 1, 'g');
    shape[at] /= groups;
    shape.insert(shape.begin() + at, groups);
  }
  Results product = emitEinsum(
      c, x, kernel, lhsTerm + "," + rhsTerm + "->" + resultTerm, shape);
  if (failed(product))
    return failure();
  return c.one(c.emit.reshape((*product)[0], c.outShape()));
}

static constexpr Row kRows[] = {
    {"stablehlo.convolution", 2, 1, 0, convertConvolution},
    {"stablehlo.dot", 2, 1, 0, convertDot},
    {"stablehlo.dot_general", 2, 1, 0, convertDotGeneral},
    {"stablehlo.einsum", 2, 1, 0, convertEinsum},
};

ArrayRef<Row> tp::stablehlo::getContractionRows() { return kRows; }
