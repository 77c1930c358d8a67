// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Windows that slide over a tensor, which may be sharded.
//
// A device's windows reach across the borders of its block. So the block is
// extended at both ends, one dimension after the other, and the windows are
// views of the extended block. For each dimension, devices also send the rows
// that they received for earlier dimensions, so the corners of an image's block
// arrive through two neighbours.

#include "dialects/TP/Emitter.h"
#include "dialects/TP/Strips.h"
#include "dialects/TP/Windows.h"

#include "dialects/OpError.h"
#include "tpopt/Dialect/SPMD/SPMD.h"

using namespace mlir;
using namespace tp;
using spmd::Linearity;

std::pair<int64_t, int64_t> WindowOp::getReach(unsigned i) {
  int64_t dim = getWindowDim(i), low = getLow()[i];
  return {-low, (getType().getDimSize(dim) - 1) * getStrides()[i] +
                    (getType().getDimSize(dim + 1) - 1) * getDilations()[i] +
                    1 - low};
}

/// Returns true if windows along `dims[i]` read outside of the input.
static bool readsOutside(WindowOp op, unsigned i) {
  auto [first, end] = op.getReach(i);
  return first < 0 || end > op.getInput().getType().getDimSize(op.getDims()[i]);
}

Value tp::emitWindow(OpBuilder &builder, Location loc, RankedTensorType type,
                     Value input, Value fill, ArrayRef<int64_t> dims,
                     ArrayRef<int64_t> low, ArrayRef<int64_t> strides,
                     ArrayRef<int64_t> dilations) {
  auto op = WindowOp::create(builder, loc, type, input, fill, dims, low,
                             strides, dilations);
  if (llvm::none_of(llvm::seq<unsigned>(0, dims.size()),
                    [&](unsigned i) { return readsOutside(op, i); }))
    op.getFillMutable().clear();
  return op;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static LogicalResult verifyAttributes(WindowOp op) {
  ArrayRef<int64_t> dims = op.getDims();
  size_t count = dims.size();
  bool fits = count > 0 && op.getLow().size() == count &&
              op.getStrides().size() == count &&
              op.getDilations().size() == count;
  for (size_t i = 0; fits && i < count; ++i)
    fits = dims[i] >= 0 && dims[i] < op.getInput().getType().getRank() &&
           (i == 0 || dims[i - 1] < dims[i]) && op.getStrides()[i] >= 1 &&
           op.getDilations()[i] >= 1;
  if (!fits)
    return tp::emitOpError(op, ErrorCode::BadAttribute)
           << "expects dims to be ascending dimensions of "
           << op.getInput().getType()
           << ", and for each of them a low, a stride of at least 1 and a "
              "dilation of at least 1";
  return success();
}

static LogicalResult verifyShape(WindowOp op) {
  RankedTensorType input = op.getInput().getType(), result = op.getType();
  int64_t rank = input.getRank() + op.getDims().size();
  bool fits = result.getRank() == rank;
  for (int64_t dim = 0, i = 0; fits && dim < input.getRank(); ++dim) {
    bool slides = i < int64_t(op.getDims().size()) && op.getDims()[i] == dim;
    int64_t at = dim + i;
    fits = slides ? input.getDimSize(dim) > 0 && result.getDimSize(at) > 0 &&
                        result.getDimSize(at + 1) > 0
                  : input.getDimSize(dim) == result.getDimSize(at);
    i += slides;
  }
  if (!fits)
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects each dimension in dims to become two result dimensions, "
              "one over the windows and one over the elements of a window, "
              "both of size at least 1; the other dimensions must equal those "
              "of "
           << input << ", got " << result;
  return success();
}

/// Sizes, strides and dilations can be any numbers, so avoid overflow.
static LogicalResult verifyPlaces(WindowOp op) {
  for (auto [i, dim] : llvm::enumerate(op.getDims())) {
    using Wide = __int128;
    int64_t at = op.getWindowDim(i);
    Wide first = -Wide(op.getLow()[i]);
    Wide last =
        Wide(op.getType().getDimSize(at) - 1) * op.getStrides()[i] +
        Wide(op.getType().getDimSize(at + 1) - 1) * op.getDilations()[i] +
        first;
    if (first < -Wide(INT32_MAX) || first > INT32_MAX || last > INT32_MAX)
      return tp::emitOpError(op, ErrorCode::BadAttribute)
             << "cannot read elements whose indices are outside -(2^31 - 1) to "
                "2^31 - 1 along dimension "
             << dim;
    if (!op.getFill() &&
        (first < 0 || last >= op.getInput().getType().getDimSize(dim)))
      return tp::emitOpError(op, ErrorCode::BadAttribute)
             << "reads elements " << int64_t(first) << " to " << int64_t(last)
             << " of dimension " << dim << " of " << op.getInput().getType()
             << ", some of which do not exist; add a fill for those";
  }
  return success();
}

LogicalResult WindowOp::verify() {
  if (failed(verifyAttributes(*this)) || failed(verifyShape(*this)) ||
      failed(verifyPlaces(*this)))
    return failure();
  if (getFill() && getFill().getType().getRank() != 0)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a scalar fill, got " << getFill().getType();
  for (Value operand : getOperands())
    if (typeOf(operand).getElementType() != getType().getElementType())
      return tp::emitOpError(*this, ErrorCode::TypeMismatch)
             << "expects operands and result to have the same element type, "
                "got "
             << operand.getType() << " and " << getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Meaning
//===----------------------------------------------------------------------===//

ShardingRule WindowOp::getShardingRule() {
  RuleBuilder rule(getNumOperands(), 1);
  unsigned result = getNumOperands(), i = 0;
  for (auto [dim, size] : llvm::enumerate(getInput().getType().getShape())) {
    bool slides = i < getDims().size() && getDims()[i] == int64_t(dim);
    unsigned factor = slides ? rule.addFactor(getType().getDimSize(dim + i),
                                              FactorKind::Exchanged)
                             : rule.addFactor(size);
    rule.addDim(0, factor);
    rule.addDim(result, factor);
    if (slides)
      rule.addDim(result, rule.addFactor(getType().getDimSize(dim + ++i),
                                         FactorKind::Whole));
  }
  return rule.build();
}

double WindowOp::getFlops(ArrayRef<int64_t>) { return 0; }
Linearity WindowOp::getLinearity(unsigned, ReduceKind) {
  return Linearity::Joint;
}

FailureOr<SmallVector<TensorValue>>
WindowOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  TensorValue value = operands[0];
  SmallVector<int64_t> shape(getInput().getType().getShape()),
      low(shape.size(), 0), starts;
  for (auto [i, dim] : llvm::enumerate(getDims())) {
    auto [first, end] = getReach(i);
    low[dim] = std::max<int64_t>(0, -first);
    shape[dim] = low[dim] + std::max(shape[dim], end);
    starts.push_back(first + low[dim]);
  }
  if (getFill())
    value = evaluator.pad(value, operands[1], low,
                          getInput().getType().clone(shape));
  return SmallVector<TensorValue>{evaluator.window(
      value, getDims(), starts, getStrides(), getDilations(), getType())};
}

//===----------------------------------------------------------------------===//
// Sharded dimensions
//===----------------------------------------------------------------------===//

/// The rows that each device needs along `dims[i]` when that dimension is split
/// over `from` devices in the input and `to` devices in the result.
static std::optional<Window> getWindow(WindowOp op, unsigned i, int64_t from,
                                       int64_t to) {
  int64_t n = op.getInput().getType().getDimSize(op.getDims()[i]);
  int64_t dim = op.getWindowDim(i);
  auto [first, end] = op.getReach(i);
  if (end <= 0 || first >= n)
    return std::nullopt; // only fill is read
  RankedTensorType result = op.getType();
  Piece piece{first, /*at=*/0, result.getDimSize(dim), op.getStrides()[i]};
  piece.taps = result.getDimSize(dim + 1);
  piece.dilation = op.getDilations()[i];
  return getWindow(BlockLayout{n, from}, BlockLayout{piece.size, to}, piece,
                   kMostDistances);
}

/// The number of rows that a device reads along `dims[i]` if it has `block`
/// windows.
static int64_t getSpan(WindowOp op, unsigned i, int64_t block) {
  auto [first, end] = op.getReach(i);
  int64_t size = op.getType().getDimSize(op.getWindowDim(i));
  return end - first - (size - block) * op.getStrides()[i];
}

std::optional<SmallVector<spmd::Exchange>>
WindowOp::getExchanges(ArrayRef<TensorSharding> layouts) {
  RankedTensorType input = getInput().getType();
  const TensorSharding &from = layouts.front(), &to = layouts.back();
  SmallVector<int64_t> shape = getLocalShape(from, input.getShape()),
                       blocks = getLocalShape(to, getType().getShape());
  SmallVector<spmd::Exchange> exchanges;
  for (auto [i, dim] : llvm::enumerate(getDims())) {
    const AxisList &axes = to.dims[getWindowDim(i)].axes;
    if (getSize(axes) == 1)
      continue;
    std::optional<Window> window =
        ::getWindow(*this, i, getSize(from.dims[dim].axes), getSize(axes));
    if (!window)
      return std::nullopt;
    Fetches fetches;
    if (!from.dims[dim].axes.empty())
      addFetches(fetches, 0, *window, getSize(axes));
    for (const Fetch &fetch : fetches) {
      shape[dim] = fetch.rows.size();
      exchanges.push_back(getExchange(shape, input.getElementType(), axes));
    }
    shape[dim] = getSpan(*this, i, blocks[getWindowDim(i)]);
  }
  if (exchanges.size() > kMostDistances)
    return std::nullopt;
  return exchanges;
}

namespace {

/// Extends the device's block along one dimension after the other.
class WindowLocalizer {
public:
  WindowLocalizer(WindowOp op, spmd::Localizer &localizer, ValueRange operands)
      : op(op), localizer(localizer), builder(localizer.getBuilder()),
        loc(op.getLoc()), emit(builder, loc),
        result(localizer.getLocalType(op.getResult())), value(operands[0]),
        fill(op.getFill() ? operands[1] : Value()), low(op.getLow()) {}

  FailureOr<SmallVector<Value>> run() {
    for (unsigned i = 0; i < low.size(); ++i)
      if (failed(extend(i)))
        return failure();
    // Only unsharded dimensions still have windows that read outside.
    return SmallVector<Value>{emitWindow(builder, loc, result, value, fill,
                                         op.getDims(), low, op.getStrides(),
                                         op.getDilations())};
  }

private:
  const AxisList &getAxes(unsigned i) {
    return localizer.getSharding(op.getResult()).dims[op.getWindowDim(i)].axes;
  }
  LogicalResult extend(unsigned i) {
    const AxisList &axes = getAxes(i);
    if (getSize(axes) == 1)
      return success();
    int64_t dim = op.getDims()[i];
    int64_t from = getSize(localizer.getSharding(op.getInput()).dims[dim].axes);
    std::optional<Window> window = getWindow(op, i, from, getSize(axes));
    if (!window)
      return emitTooManyExchanges(op, dim);
    Fetches fetches;
    if (from != 1)
      addFetches(fetches, 0, *window, getSize(axes));
    SmallVector<int64_t> shape(typeOf(value).getShape());
    shape[dim] = getSpan(op, i, result.getDimSize(op.getWindowDim(i)));
    auto type = RankedTensorType::get(shape, typeOf(value).getElementType());
    StripLocalizer strips(localizer, loc, dim, axes, value, fetches);
    value =
        strips.getPart(0, *window, /*stride=*/1, /*isWhole=*/from == 1, type);
    if (readsOutside(op, i))
      fillOutside(i);
    low[i] = 0;
    return success();
  }

  Value scalar(int64_t number) {
    return emit.constant(number,
                         RankedTensorType::get({}, builder.getIntegerType(32)));
  }

  /// Replaces by fill all rows of `value` that are not rows of the input.
  void fillOutside(unsigned i) {
    int64_t dim = op.getDims()[i];
    auto [first, end] = op.getReach(i);
    Value rows =
        emit.iota(dim, typeOf(value).getShape(), builder.getIntegerType(32));
    // The position in the input of the first row of `value`.
    Value begin = emit.binary<AddOp>(
        emit.binary<MulOp>(
            localizer.getBlockBegin(op.getResult(), op.getWindowDim(i)),
            scalar(op.getStrides()[i])),
        scalar(first));
    auto compare = [&](ComparePredicate predicate, int64_t row) {
      Value bound = emit.binary<SubOp>(scalar(row), begin);
      return emit.compare(predicate, rows,
                          emit.splat(bound, typeOf(rows).getShape()));
    };
    int64_t n = op.getInput().getType().getDimSize(dim);
    Value isInside;
    if (first < 0)
      isInside = compare(ComparePredicate::GE, 0);
    if (end > n) {
      Value isBefore = compare(ComparePredicate::LT, n);
      isInside = isInside ? emit.binary<AndOp>(isInside, isBefore) : isBefore;
    }
    value = emit.select(isInside, value,
                        emit.splat(fill, typeOf(value).getShape()));
  }

  WindowOp op;
  spmd::Localizer &localizer;
  OpBuilder &builder;
  Location loc;
  Emitter emit;
  RankedTensorType result;
  Value value, fill;
  SmallVector<int64_t> low;
};

} // namespace

FailureOr<SmallVector<Value>> WindowOp::localize(spmd::Localizer &localizer,
                                                 ValueRange operands) {
  return WindowLocalizer(*this, localizer, operands).run();
}
