// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Spaces out elements along a dimension that may be sharded: interior padding,
// and the gradient of a slice with a stride.

#include "dialects/TP/Emitter.h"
#include "dialects/TP/Strips.h"

#include "dialects/OpError.h"
#include "tpopt/Dialect/SPMD/SPMD.h"

using namespace mlir;
using namespace tp;
using spmd::Linearity;

/// Describes the input elements that the result contains, and where they are in
/// the result. The piece has size 0 if the result contains none of them.
static Piece getPiece(DilateOp op) {
  int64_t dim = op.getDim(), spacing = op.getSpacing(), low = op.getLow();
  int64_t length = op.getType().getDimSize(dim);
  int64_t first =
      low < 0 ? int64_t(llvm::divideCeil(uint64_t(-low), uint64_t(spacing)))
              : 0;
  Piece piece{first, low + first * spacing, 0};
  piece.spread = spacing;
  int64_t behind = op.getInput().getType().getDimSize(dim) - first;
  if (piece.at < length)
    piece.size = std::max<int64_t>(
        0, std::min(behind, (length - 1 - piece.at) / spacing + 1));
  return piece;
}

LogicalResult DilateOp::verify() {
  RankedTensorType input = getInput().getType(), result = getType();
  int64_t dim = getDim(), rank = input.getRank();
  if (dim < 0 || dim >= rank)
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "dim " << dim << " is out of range for a tensor of rank " << rank;
  constexpr int64_t farthest = INT32_MAX;
  int64_t spacing = getSpacing(), low = getLow();
  if (spacing < 1 || spacing > farthest || std::abs(low) > farthest)
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects `spacing` from 1 to 2^31 - 1 and `low` from -(2^31 - 1) "
              "to 2^31 - 1, got "
           << spacing << " and " << low;
  bool fits = result.getRank() == rank;
  for (int64_t i = 0; fits && i < rank; ++i)
    fits = i == dim || input.getDimSize(i) == result.getDimSize(i);
  if (!fits)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a result that has the sizes of " << input
           << " except in dimension " << dim << ", got " << result;
  if (getFill().getType().getRank() != 0)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a scalar fill, got " << getFill().getType();
  for (RankedTensorType type : {input, getFill().getType()})
    if (type.getElementType() != result.getElementType())
      return tp::emitOpError(*this, ErrorCode::TypeMismatch)
             << "expects operands and result to have the same element type, "
                "got "
             << type << " and " << result;
  if (getPiece(*this).size == 0)
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "the result contains no element of the input " << input
           << "; write tp.broadcast of the fill instead";
  return success();
}

ShardingRule DilateOp::getShardingRule() {
  RuleBuilder rule(2, 1);
  for (auto [i, size] : llvm::enumerate(getType().getShape())) {
    unsigned factor = rule.addFactor(
        size, i == getDim() ? FactorKind::Exchanged : FactorKind::PassThrough);
    rule.addDim(0, factor);
    rule.addDim(2, factor);
  }
  return rule.build();
}

double DilateOp::getFlops(ArrayRef<int64_t>) { return 0; }
Linearity DilateOp::getLinearity(unsigned, ReduceKind) {
  return Linearity::Joint;
}

/// `x`, with `spacing - 1` elements of `fill` inserted after each element along
/// `dim`.
static Value emitApart(Emitter &emit, OpBuilder &builder, Location loc, Value x,
                       Value fill, int64_t dim, int64_t spacing) {
  SmallVector<int64_t> shape(typeOf(x).getShape());
  int64_t size = shape[dim];
  shape.insert(shape.begin() + dim + 1, 1);
  Value column = emit.reshape(x, shape);
  shape[dim + 1] = spacing;
  column = PadOp::create(builder, loc, Emitter::withShape(x, shape), column,
                         fill, SmallVector<int64_t>(shape.size(), 0));
  shape.erase(shape.begin() + dim);
  shape[dim] = size * spacing;
  return emit.reshape(column, shape);
}

SmallVector<Value> DilateOp::decompose(OpBuilder &builder) {
  Emitter emit(builder, getLoc());
  int64_t dim = getDim(), length = getType().getDimSize(dim);
  Piece piece = getPiece(*this);
  SmallVector<int64_t> shape(getInput().getType().getShape()),
      starts(shape.size(), 0), low(starts);
  starts[dim] = piece.start;
  shape[dim] = piece.size;
  Value x = getInput();
  if (typeOf(x).getDimSize(dim) != piece.size)
    x = emit.slice(x, starts, shape);
  x = emitApart(emit, builder, getLoc(), x, getFill(), dim, getSpacing());
  // `x` may have more rows than fit into the result, or fewer.
  int64_t room = length - piece.at;
  starts[dim] = 0;
  if (typeOf(x).getDimSize(dim) > room) {
    shape[dim] = room;
    x = emit.slice(x, starts, shape);
  }
  low[dim] = piece.at;
  if (typeOf(x).getDimSize(dim) != length)
    x = PadOp::create(builder, getLoc(), getType(), x, getFill(), low);
  return {x};
}

//===----------------------------------------------------------------------===//
// Sharded dimensions
//===----------------------------------------------------------------------===//

/// The input rows that each device needs if the dimension is sharded over
/// `from` devices in the input and over `to` devices in the result.
static std::optional<Window> getWindow(DilateOp op, int64_t from, int64_t to) {
  int64_t dim = op.getDim();
  return getWindow(BlockLayout{op.getInput().getType().getDimSize(dim), from},
                   BlockLayout{op.getType().getDimSize(dim), to}, getPiece(op),
                   kMostDistances);
}

std::optional<SmallVector<spmd::Exchange>>
DilateOp::getExchanges(ArrayRef<TensorSharding> layouts) {
  RankedTensorType input = getInput().getType();
  const AxisList &axes = layouts.back().dims[getDim()].axes;
  SmallVector<spmd::Exchange> exchanges;
  if (getSize(axes) == 1)
    return exchanges;
  const TensorSharding &from = layouts.front();
  std::optional<Window> window =
      ::getWindow(*this, getSize(from.dims[getDim()].axes), getSize(axes));
  if (!window)
    return std::nullopt;
  Fetches fetches;
  if (!from.dims[getDim()].axes.empty())
    addFetches(fetches, 0, *window, getSize(axes));
  SmallVector<int64_t> shape = getLocalShape(from, input.getShape());
  for (const Fetch &fetch : fetches) {
    shape[getDim()] = fetch.rows.size();
    exchanges.push_back(getExchange(shape, input.getElementType(), axes));
  }
  return exchanges;
}

namespace {

/// Builds the local form: gets the input rows that the device's result block
/// needs, spaces them out, and takes the block from them.
class DilateLocalizer {
public:
  DilateLocalizer(DilateOp op, spmd::Localizer &localizer, ValueRange operands)
      : op(op), localizer(localizer), builder(localizer.getBuilder()),
        loc(op.getLoc()), emit(builder, loc), dim(op.getDim()),
        result(localizer.getLocalType(op.getResult())), operands(operands) {}

  FailureOr<SmallVector<Value>> run() {
    const AxisList &axes = localizer.getSharding(op.getResult()).dims[dim].axes;
    if (getSize(axes) == 1)
      return SmallVector<Value>{
          DilateOp::create(builder, loc, result, operands[0], operands[1],
                           op.getDim(), op.getLow(), op.getSpacing())};
    int64_t from = getSize(localizer.getSharding(op.getInput()).dims[dim].axes);
    std::optional<Window> window = getWindow(op, from, getSize(axes));
    if (!window)
      return emitTooManyExchanges(op, dim);
    Fetches fetches;
    if (from != 1)
      addFetches(fetches, 0, *window, getSize(axes));
    StripLocalizer strips(localizer, loc, dim, axes, operands.take_front(),
                          fetches);
    auto setApart = [&](Value strip) {
      return emitApart(emit, builder, loc, strip, operands[1], dim,
                       op.getSpacing());
    };
    Value value = strips.getPart(0, *window, /*stride=*/1,
                                 /*isWhole=*/from == 1, result, setApart);
    return SmallVector<Value>{fillOutside(value)};
  }

private:
  /// Replaces the result rows before and after the piece by fill, unless all of
  /// them are fill already. On a device with rows of the piece, the rows
  /// directly before and after the piece are fill already. On a device without
  /// rows of the piece, all rows are undefined.
  Value fillOutside(Value value) {
    Piece piece = getPiece(op);
    int64_t length = op.getType().getDimSize(dim), end = piece.getEnd();
    int64_t block = result.getDimSize(dim);
    bool isBefore = piece.at >= piece.spread || piece.at >= block;
    bool isBehind = length >= end + piece.spread ||
                    (length - 1) / block != (end - 1) / block;
    if (!isBefore && !isBehind)
      return value;
    // Row numbers are not partial sums, even if the elements are.
    TensorSharding sharding = localizer.getSharding(op.getResult());
    sharding.unreduced.clear();
    auto withElement = [&](Type element) {
      return localizer.getLocalType(
          RankedTensorType::get(op.getType().getShape(), element), sharding);
    };
    RankedTensorType i32 = withElement(builder.getIntegerType(32));
    Value rows = IotaOp::create(builder, loc, i32, dim);
    Value begin = localizer.getBlockBegin(op.getResult(), dim);
    auto compare = [&](ComparePredicate predicate, int64_t row) -> Value {
      Value bound = emit.constant(
          row, RankedTensorType::get({}, builder.getIntegerType(32)));
      if (begin)
        bound = emit.binary<SubOp>(bound, begin);
      return CompareOp::create(
          builder, loc, withElement(builder.getI1Type()), predicate, rows,
          BroadcastOp::create(builder, loc, i32, bound, ArrayRef<int64_t>()));
    };
    Value fill = BroadcastOp::create(builder, loc, result, operands[1],
                                     ArrayRef<int64_t>());
    if (isBefore)
      value = SelectOp::create(builder, loc, result,
                               compare(ComparePredicate::GE, piece.at), value,
                               fill);
    if (isBehind)
      value = SelectOp::create(builder, loc, result,
                               compare(ComparePredicate::LT, end), value, fill);
    return value;
  }

  DilateOp op;
  spmd::Localizer &localizer;
  OpBuilder &builder;
  Location loc;
  Emitter emit;
  int64_t dim;
  RankedTensorType result;
  ValueRange operands;
};

} // namespace

FailureOr<SmallVector<Value>> DilateOp::localize(spmd::Localizer &localizer,
                                                 ValueRange operands) {
  return DilateLocalizer(*this, localizer, operands).run();
}
