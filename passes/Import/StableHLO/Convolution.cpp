// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Convolutions: each becomes an einsum of the kernel and windows of the input.
//
//     x: [n, 16, c], kernel: [3, c, m]
//     windows = tp.window x                    [n, 16, 3, c]
//     y = tp.einsum "nANc,Ncm->nAm" windows, kernel
//
// The gradient of a kernel is a convolution with few results and a kernel as
// long as the input. In this case, windows and their elements swap roles, so
// that the long dimension, which may be sharded, is the dimension of windows.
//
// If the input is spread (dilated), as in the gradient of strides, most
// products would be with zeros. So results are grouped by phase: with a spread
// of 2, even results combine the input with every other element of the kernel,
// and odd results with the elements in between.

#include "Conversion.h"

#include "dialects/TP/Windows.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

namespace {
/// The dimensions of a tensor by their role. `first` and `second` are batch and
/// features or, in a kernel, input and output features.
struct Labels {
  int64_t first = -1, second = -1;
  SmallVector<int64_t> spatial;
};

/// One spatial dimension of the window.
struct Window {
  int64_t stride, low, high, lhsDilation, rhsDilation;
  bool reversed;
  int64_t input, kernel, output;

  /// Returns true if windows are adjacent. Splitting the dimension then gives
  /// the windows.
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
    return c.invalid()
           << " expects `dimension_numbers` to label every dimension, as in "
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
        return c.invalid()
               << " has a window out of range: expects strides and dilations "
                  "of at least 1, and sizes and padding of at most 2^31";
    if (window.stride < 1 || window.lhsDilation < 1 || window.rhsDilation < 1 ||
        isLarge(window.low) || isLarge(window.high))
      return c.invalid()
             << " has a window out of range: expects strides and dilations of "
                "at least 1, and sizes and padding of at most 2^31";
    int64_t padded =
        window.low + window.high +
        std::max<int64_t>((window.input - 1) * window.lhsDilation + 1, 0);
    int64_t reach = (window.kernel - 1) * window.rhsDilation + 1;
    int64_t output = padded < reach ? 0 : (padded - reach) / window.stride + 1;
    if (output != window.output)
      return c.invalid() << " makes " << output << " windows along dimension "
                         << result.spatial[i] << ", but the result has size "
                         << window.output << " there";
    if (window.low > INT32_MAX || padded > INT32_MAX)
      return c.unsupported() << " with more than 2^31 - 1 elements in a padded "
                                "dimension is not supported";
    windows.push_back(window);
  }
  return windows;
}

namespace {
/// Letters in equations: n is the batch, c input features, m output features, g
/// groups. Each spatial dimension has a letter for results, one for the kernel
/// and one for phases.
class ConvolutionBuilder {
public:
  ConvolutionBuilder(Conversion &c, const Labels &lhs, const Labels &rhs,
                     const Labels &result, ArrayRef<Window> windows)
      : c(c), windows(windows), x(c.in(0)), kernel(c.in(1)),
        lhsTerm(c.inType(0).getRank(), ' '), rhsTerm(lhsTerm),
        resultTerm(lhsTerm), shape(c.outShape()) {
    lhsTerm[lhs.first] = resultTerm[result.first] = 'n';
    lhsTerm[lhs.second] = rhsTerm[rhs.first] = 'c';
    rhsTerm[rhs.second] = resultTerm[result.second] = 'm';
    for (unsigned i = 0; i < windows.size(); ++i) {
      lhsTerm[lhs.spatial[i]] = resultTerm[result.spatial[i]] = letterOf(i);
      rhsTerm[rhs.spatial[i]] = kernelLetterOf(i);
    }
  }

  Results run(int64_t featureGroups, int64_t batchGroups) {
    SmallVector<int64_t> whole(shape);
    for (unsigned i = 0; i < windows.size(); ++i) {
      if (std::exchange(windows[i].reversed, false))
        kernel = emitReverse(c, kernel, rhsTerm.find(kernelLetterOf(i)));
      if (windows[i].lhsDilation > 1)
        removeSpread(i, whole);
    }
    emitPatches();
    if (featureGroups > 1)
      splitGroups('c', featureGroups);
    else if (batchGroups > 1)
      splitGroups('n', batchGroups);
    Results product = emitEinsum(
        c, x, kernel, lhsTerm + "," + rhsTerm + "->" + resultTerm, shape);
    if (failed(product))
      return failure();
    // The last group of phases may exceed the result; the excess is removed.
    Value y = c.emit.reshape(product->front(), whole);
    if (y.getType() == c.outType())
      return c.one(y);
    SmallVector<int64_t> starts(whole.size(), 0);
    return c.one(c.emit.slice(y, starts, c.outShape()));
  }

private:
  static char letterOf(unsigned i) { return char('A' + i); }
  static char kernelLetterOf(unsigned i) { return char('N' + i); }
  static char phaseLetterOf(unsigned i) { return "abdefhijkl"[i]; }

  Value zero() {
    return c.emit.constant(
        0, RankedTensorType::get({}, typeOf(x).getElementType()));
  }

  /// Removes the dilation of the input from window `i`. Groups results by phase
  /// (their index modulo the dilation) or, if the window has strides or
  /// dilations of its own, inserts zeros into the input. In `whole`, rounds the
  /// size of the result up to complete groups.
  void removeSpread(unsigned i, SmallVectorImpl<int64_t> &whole) {
    Window &window = windows[i];
    size_t dim = lhsTerm.find(letterOf(i));
    int64_t spread = std::exchange(window.lhsDilation, 1);
    if (window.stride != 1 || window.rhsDilation != 1) {
      x = emitInterior(c, x, zero(), dim, spread, window.low, window.high);
      window.input = typeOf(x).getDimSize(dim);
      return;
    }
    // The result at q * spread + r is the sum, over all t, of input[q + t -
    // before] * kernel[(t - before) * spread + low - r].
    int64_t before = llvm::divideFloorSigned(window.low, spread);
    int64_t skipped = spread - 1 + before * spread - window.low;
    int64_t count = llvm::divideCeil(window.kernel + skipped, spread);
    int64_t results = llvm::divideCeil(window.output, spread);
    splitKernel(i, skipped, count, spread);
    size_t at = resultTerm.find(letterOf(i));
    whole[dimOfResult(at)] = results * spread;
    resultTerm.insert(at + 1, 1, phaseLetterOf(i));
    shape[at] = results;
    shape.insert(shape.begin() + at + 1, spread);
    window.low = before;
    window.kernel = count;
    window.output = results;
  }

  /// Returns the dimension of the operation's result that corresponds to the
  /// letter at index `at` of `resultTerm`.
  size_t dimOfResult(size_t at) {
    auto isPhase = [&](char letter) {
      return StringRef("abdefhijkl").contains(letter);
    };
    return at - llvm::count_if(StringRef(resultTerm).take_front(at), isPhase);
  }

  /// Splits the kernel, after adding `skipped` zeros at its beginning, into
  /// `count` groups of `spread` elements, and reverses each group.
  void splitKernel(unsigned i, int64_t skipped, int64_t count, int64_t spread) {
    size_t dim = rhsTerm.find(kernelLetterOf(i));
    kernel = c.emit.pad(kernel, dim, skipped, count * spread);
    SmallVector<int64_t> sizes(typeOf(kernel).getShape());
    sizes[dim] = count;
    sizes.insert(sizes.begin() + dim + 1, spread);
    kernel = emitReverse(c, c.emit.reshape(kernel, sizes), dim + 1);
    rhsTerm.insert(dim + 1, 1, phaseLetterOf(i));
  }

  /// Writes every spatial dimension of the input as windows and their elements.
  void emitPatches() {
    SmallVector<int64_t> dims, low, strides, dilations, seen, split;
    std::string term;
    for (auto [dim, letter] : llvm::enumerate(lhsTerm)) {
      int64_t size = typeOf(x).getDimSize(dim);
      if (letter < 'A' || letter > 'Z') {
        seen.push_back(size);
        split.push_back(size);
        term += letter;
        continue;
      }
      unsigned i = letter - 'A';
      const Window &window = windows[i];
      bool isSplit = window.isTiling() || window.isPointwise();
      bool isSwapped = !isSplit && window.kernel > window.output;
      std::pair sizes{window.output, window.kernel};
      std::pair letters{letter, kernelLetterOf(i)};
      std::pair steps{window.stride, window.rhsDilation};
      if (isSwapped) {
        std::swap(sizes.first, sizes.second);
        std::swap(letters.first, letters.second);
        std::swap(steps.first, steps.second);
      }
      term += {letters.first, letters.second};
      split.append({sizes.first, sizes.second});
      if (isSplit) {
        seen.push_back(size);
        continue;
      }
      seen.append({sizes.first, sizes.second});
      dims.push_back(dim);
      low.push_back(window.low);
      strides.push_back(steps.first);
      dilations.push_back(steps.second);
    }
    if (!dims.empty())
      x = emitWindow(c.builder, c.op->getLoc(), Emitter::withShape(x, seen), x,
                     zero(), dims, low, strides, dilations);
    x = c.emit.reshape(x, split);
    lhsTerm = term;
  }

  /// Splits the input's dimension `letter`, and the output features of kernel
  /// and result, into [groups, rest].
  void splitGroups(char letter, int64_t groups) {
    auto split = [&](Value value, std::string &term, char of) {
      size_t dim = term.find(of);
      SmallVector<int64_t> sizes(typeOf(value).getShape());
      sizes[dim] /= groups;
      sizes.insert(sizes.begin() + dim, groups);
      term.insert(dim, 1, 'g');
      return c.emit.reshape(value, sizes);
    };
    x = split(x, lhsTerm, letter);
    kernel = split(kernel, rhsTerm, 'm');
    size_t at = resultTerm.find('m');
    resultTerm.insert(at, 1, 'g');
    shape[at] /= groups;
    shape.insert(shape.begin() + at, groups);
  }

  Conversion &c;
  SmallVector<Window> windows;
  Value x, kernel;
  std::string lhsTerm, rhsTerm, resultTerm;
  SmallVector<int64_t> shape; ///< The einsum's result shape.
};
} // namespace

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
    return c.invalid() << " expects operands and a result of the same rank";
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
    return c.invalid() << " has feature or batch groups that do not fit the "
                          "sizes of its operands";
  if (windows->size() > 10)
    return c.unsupported()
           << " with more than 10 spatial dimensions is not supported";
  if (isEmpty(c.inType(0)) || isEmpty(c.inType(1)) || // sums of nothing
      isEmpty(c.outType()))
    return c.one(c.emit.constant(0, c.outType()));

  return ConvolutionBuilder(c, *lhs, *rhs, *result, *windows)
      .run(*featureGroups, *batchGroups);
}

static constexpr Row kConvolutionRows[] = {
    {"stablehlo.convolution", 2, 1, 0, convertConvolution},
};

ArrayRef<Row> tp::stablehlo::getConvolutionRows() { return kConvolutionRows; }
