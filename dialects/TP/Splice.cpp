// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Splices: slices, pads and concatenations whose dimension may be sharded.

#include "dialects/TP/Emitter.h"
#include "dialects/TP/Strips.h"

#include "dialects/OpError.h"
#include "tpopt/Dialect/SPMD/SPMD.h"

using namespace mlir;
using namespace tp;
using spmd::Linearity;

/// Returns true if `size` elements from `start` on, `stride` apart, are all
/// within `length`.
static bool isInside(int64_t start, int64_t size, int64_t stride,
                     int64_t length) {
  if (start < 0 || start >= length)
    return false;
  // Strides and sizes can be any numbers, so avoid overflow.
  uint64_t room = stride > 0 ? length - 1 - start : start;
  uint64_t step = stride > 0 ? uint64_t(stride) : -uint64_t(stride);
  return uint64_t(size - 1) <= room / step;
}

LogicalResult SpliceOp::verify() {
  size_t count = getInputs().size();
  if (count == 0 || getStarts().size() != count || getSizes().size() != count ||
      llvm::any_of(getSizes(), [](int64_t size) { return size < 1; }))
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects at least one input, and for each input a start and a "
              "size of at least 1";
  if (getStrides() &&
      (getStrides()->size() != count || llvm::is_contained(*getStrides(), 0)))
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects a stride other than 0 for each input, or no strides at "
              "all";
  int64_t dim = getDim(), rank = getType().getRank();
  if (dim < 0 || dim >= rank)
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "dim " << dim << " is out of range for a tensor of rank " << rank;
  for (Value input : getInputs()) {
    RankedTensorType type = typeOf(input);
    bool fits = type.getElementType() == getType().getElementType() &&
                (type.getRank() == 0 || type.getRank() == rank);
    for (int64_t i = 0; fits && i < type.getRank(); ++i)
      fits = i == dim || type.getDimSize(i) == getType().getDimSize(i);
    if (!fits)
      return tp::emitOpError(*this, ErrorCode::TypeMismatch)
             << "expects inputs that are scalars or agree with the result in "
                "all dimensions except `dim`, got "
             << type;
  }
  int64_t total = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    int64_t start = getStarts()[i], size = getSizes()[i], stride = getStride(i);
    bool fits =
        typeOf(input).getRank() == 0
            ? start == 0 && stride == 1
            : isInside(start, size, stride, typeOf(input).getDimSize(dim));
    if (!fits) {
      auto error = tp::emitOpError(*this, ErrorCode::BadAttribute);
      error << "takes " << size << " elements with start " << start;
      if (stride != 1)
        error << " and stride " << stride;
      return error << ", which are not all inside the input " << typeOf(input);
    }
    // A piece of a scalar can have any size, so avoid overflow.
    if (size > getType().getDimSize(dim) - total)
      total = getType().getDimSize(dim) + 1;
    else
      total += size;
  }
  if (total != getType().getDimSize(dim))
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "the sizes of the pieces do not add up to the size of the result "
              "along dim, "
           << getType().getDimSize(dim);
  return success();
}

ShardingRule SpliceOp::getShardingRule() {
  unsigned inputs = getInputs().size();
  RuleBuilder rule(inputs, 1);
  for (auto [i, size] : llvm::enumerate(getType().getShape())) {
    bool own = int64_t(i) == int64_t(getDim());
    unsigned factor = rule.addFactor(size, own ? FactorKind::Exchanged
                                               : FactorKind::PassThrough);
    for (auto [t, input] : llvm::enumerate(getInputs())) {
      if (typeOf(input).getRank() == 0)
        continue;
      int64_t length = typeOf(input).getDimSize(i);
      // Replicating a short operand is better than splitting it into tiny
      // blocks.
      bool isShort = own && inputs > 1 && length < size / 4;
      rule.addDim(t,
                  isShort ? rule.addFactor(length, FactorKind::Whole) : factor);
    }
    rule.addDim(inputs, factor);
  }
  return rule.build();
}

double SpliceOp::getFlops(ArrayRef<int64_t>) { return 0; }
Linearity SpliceOp::getLinearity(unsigned, ReduceKind) {
  return Linearity::Joint;
}

SmallVector<Value> SpliceOp::decompose(OpBuilder &builder) {
  Emitter emit(builder, getLoc());
  int64_t dim = getDim();
  auto isScalar = [](Value value) { return typeOf(value).getRank() == 0; };
  auto withLength = [&](int64_t length) {
    SmallVector<int64_t> shape(getType().getShape());
    shape[dim] = length;
    return shape;
  };
  SmallVector<Value> pieces;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    int64_t start = getStarts()[i], size = getSizes()[i], stride = getStride(i);
    Value piece = input;
    if (!isScalar(input) && typeOf(input).getDimSize(dim) != size) {
      SmallVector<int64_t> starts(getType().getRank(), 0);
      SmallVector<int64_t> strides(getType().getRank(), 1);
      // A slice starts at its lowest index, even if the stride is negative.
      starts[dim] = stride > 0 ? start : start + (size - 1) * stride;
      strides[dim] = std::abs(stride);
      piece = SliceOp::create(builder, getLoc(),
                              Emitter::withShape(input, withLength(size)),
                              input, starts, strides);
    }
    if (stride < 0 && size > 1)
      piece = emitReversed(builder, getLoc(), piece, dim, piece.getType());
    pieces.push_back(piece);
  }
  // A single tensor with the same scalar on one side or on both sides is a pad.
  SmallVector<Value, 2> scalars;
  SmallVector<unsigned, 1> tensors;
  for (auto [i, piece] : llvm::enumerate(pieces))
    if (isScalar(piece))
      scalars.push_back(piece);
    else
      tensors.push_back(i);
  if (!scalars.empty() && llvm::all_equal(scalars) && tensors.size() == 1 &&
      tensors.front() < 2 && pieces.size() - tensors.front() <= 2) {
    SmallVector<int64_t> low(getType().getRank(), 0);
    low[dim] = tensors.front() == 1 ? getSizes().front() : 0;
    return {PadOp::create(builder, getLoc(), getType(), pieces[tensors.front()],
                          scalars.front(), low)};
  }
  for (auto [piece, size] : llvm::zip_equal(pieces, getSizes()))
    if (isScalar(piece))
      piece = emit.broadcast(piece, withLength(size), {});
  return {pieces.size() == 1 ? pieces.front() : emit.concat(pieces, dim)};
}

//===----------------------------------------------------------------------===//
// Sharded dimensions
//===----------------------------------------------------------------------===//

namespace {
/// The communication that a splice needs.
struct SplicePlan {
  /// For each operand, the rows that devices need; nullopt for scalars.
  SmallVector<std::optional<Window>> windows;
  Fetches fetches;
};
} // namespace

static unsigned getFirst(SpliceOp op, unsigned operand) {
  Value input = op.getInputs()[operand];
  return llvm::find(op.getInputs(), input) - op.getInputs().begin();
}

/// `devices[i]` is the number of devices that shard operand i along the
/// dimension, and `devices.back()` is that of the result.
static std::optional<SplicePlan> makePlan(SpliceOp op,
                                          ArrayRef<int64_t> devices) {
  SplicePlan plan;
  int64_t dim = op.getDim(), at = 0, ring = devices.back();
  BlockLayout to{op.getType().getDimSize(dim), ring};
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    Piece piece{op.getStarts()[i], at, op.getSizes()[i], op.getStride(i)};
    at += piece.size;
    std::optional<Window> &window = plan.windows.emplace_back();
    if (typeOf(input).getRank() == 0)
      continue;
    BlockLayout from{typeOf(input).getDimSize(dim), devices[i]};
    window = getWindow(from, to, piece, kMostDistances);
    if (!window)
      return std::nullopt;
    if (devices[i] != 1)
      addFetches(plan.fetches, getFirst(op, i), *window, ring);
  }
  if (plan.fetches.size() > kMostDistances)
    return std::nullopt;
  return plan;
}

static int64_t getDevices(const TensorSharding &sharding, int64_t dim) {
  return sharding.dims.empty() ? 1 : getSize(sharding.dims[dim].axes);
}

std::optional<SmallVector<spmd::Exchange>>
SpliceOp::getExchanges(ArrayRef<TensorSharding> layouts) {
  int64_t dim = getDim();
  SmallVector<spmd::Exchange> exchanges;
  const AxisList &axes = layouts.back().dims[dim].axes;
  if (getSize(axes) == 1)
    return exchanges;
  std::optional<SplicePlan> plan =
      makePlan(*this, llvm::map_to_vector(layouts, [&](const auto &layout) {
        return getDevices(layout, dim);
      }));
  if (!plan)
    return std::nullopt;
  for (const Fetch &fetch : plan->fetches) {
    RankedTensorType type = typeOf(getInputs()[fetch.source]);
    SmallVector<int64_t> shape =
        getLocalShape(layouts[fetch.source], type.getShape());
    shape[dim] = fetch.rows.size();
    exchanges.push_back(getExchange(shape, type.getElementType(), axes));
  }
  return exchanges;
}

namespace {

/// Builds the local form: for each piece, a block in which the rows of this
/// piece are valid. Then selects, for each row, the block of the piece that the
/// row belongs to.
class SpliceLocalizer {
public:
  SpliceLocalizer(SpliceOp op, spmd::Localizer &localizer, ValueRange operands)
      : op(op), localizer(localizer), operands(operands),
        builder(localizer.getBuilder()), loc(op.getLoc()), emit(builder, loc),
        dim(op.getDim()), result(localizer.getLocalType(op.getResult())),
        axes(localizer.getSharding(op.getResult()).dims[dim].axes) {
    SmallVector<int64_t> devices;
    for (Value input : op.getInputs())
      devices.push_back(getDevices(localizer.getSharding(input), dim));
    devices.push_back(getSize(axes));
    plan = makePlan(op, devices);
  }

  FailureOr<SmallVector<Value>> run() {
    if (!plan)
      return emitTooManyExchanges(op, dim);
    StripLocalizer strips(localizer, loc, dim, axes, operands, plan->fetches);
    Value value = getPart(strips, 0);
    int64_t at = op.getSizes().front();
    for (unsigned i = 1; i < operands.size(); at += op.getSizes()[i++])
      value = select(at, getPart(strips, i), value);
    return SmallVector<Value>{value};
  }

private:
  Value scalar(int64_t value) {
    return emit.constant(value,
                         RankedTensorType::get({}, builder.getIntegerType(32)));
  }

  /// Returns a block of the result in which the rows of piece `i` are valid.
  /// Its other rows are arbitrary.
  Value getPart(StripLocalizer &strips, unsigned i) {
    const std::optional<Window> &window = plan->windows[i];
    if (!window)
      return BroadcastOp::create(builder, loc, result, operands[i],
                                 ArrayRef<int64_t>());
    bool isWhole =
        getDevices(localizer.getSharding(op.getInputs()[i]), dim) == 1;
    return strips.getPart(getFirst(op, i), *window, std::abs(op.getStride(i)),
                          isWhole, result);
  }

  /// Selects the rows of the result. Rows before row `at` are those of `front`.
  /// Row `at` and all rows after it are those of `behind`.
  Value select(int64_t at, Value behind, Value front) {
    // Row numbers are not partial sums, even if the pieces are.
    TensorSharding sharding = localizer.getSharding(op.getResult());
    sharding.unreduced.clear();
    auto withElement = [&](Type element) {
      return localizer.getLocalType(
          RankedTensorType::get(op.getType().getShape(), element), sharding);
    };
    RankedTensorType i32 = withElement(builder.getIntegerType(32));
    if (!rows)
      rows = IotaOp::create(builder, loc, i32, dim);
    Value bound = scalar(at);
    if (Value begin = localizer.getBlockBegin(op.getResult(), dim))
      bound = emit.binary<SubOp>(bound, begin);
    Value isBehind = CompareOp::create(
        builder, loc, withElement(builder.getI1Type()), ComparePredicate::GE,
        rows,
        BroadcastOp::create(builder, loc, i32, bound, ArrayRef<int64_t>()));
    return SelectOp::create(builder, loc, result, isBehind, behind, front);
  }

  SpliceOp op;
  spmd::Localizer &localizer;
  ValueRange operands;
  OpBuilder &builder;
  Location loc;
  Emitter emit;
  int64_t dim;
  RankedTensorType result;
  AxisList axes;
  std::optional<SplicePlan> plan;
  Value rows; ///< For every element of the block, its row.
};

} // namespace

FailureOr<SmallVector<Value>> SpliceOp::localize(spmd::Localizer &localizer,
                                                 ValueRange operands) {
  return SpliceLocalizer(*this, localizer, operands).run();
}
