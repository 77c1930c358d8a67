// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Cumulative sums, maxima, minima and products along a dimension.

#include "dialects/TP/Emitter.h"

#include "dialects/OpError.h"
#include "tpopt/Dialect/SPMD/SPMD.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

LogicalResult CumulativeOp::verify() {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  if (input.getShape() != result.getShape() ||
      input.getElementType() != result.getElementType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a result of the input's type, got " << result;
  int64_t dim = getDim();
  if (dim < 0 || dim >= input.getRank())
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "dim " << dim << " is out of range for a tensor of rank "
           << input.getRank();
  return success();
}

ShardingRule CumulativeOp::getShardingRule() {
  RuleBuilder rule(1, 1);
  for (auto [i, size] : llvm::enumerate(typeOf(getInput()).getShape())) {
    unsigned factor = rule.addFactor(size, int64_t(i) == int64_t(getDim())
                                               ? FactorKind::Exchanged
                                               : FactorKind::PassThrough);
    rule.addDim(0, factor);
    rule.addDim(1, factor);
  }
  return rule.build();
}

/// The number of times that a distance of 1 must be doubled to reach `length`
/// elements.
static unsigned getDoublings(int64_t length) {
  return length < 2 ? 0 : llvm::Log2_64_Ceil(length);
}

double CumulativeOp::getFlops(ArrayRef<int64_t> sizes) {
  return getVolume(sizes) * getDoublings(sizes[getDim()]);
}

static Value combine(OpBuilder &builder, Location loc, ReductionKind kind,
                     Value a, Value b) {
  switch (kind) {
  case ReductionKind::Sum:
    return AddOp::create(builder, loc, b.getType(), a, b);
  case ReductionKind::Max:
    return MaxOp::create(builder, loc, b.getType(), a, b);
  case ReductionKind::Min:
    return MinOp::create(builder, loc, b.getType(), a, b);
  case ReductionKind::Prod:
    return MulOp::create(builder, loc, b.getType(), a, b);
  }
  llvm_unreachable("covered switch");
}

/// Combines each element with the element `by` positions before it, for by = 1,
/// 2, 4 and so on. After the step for `by`, an element is the combination of
/// the last 2 * by elements up to and including itself. So the number of steps
/// is the logarithm of the length.
SmallVector<Value> CumulativeOp::decompose(OpBuilder &builder) {
  Emitter emit(builder, getLoc());
  int64_t dim = getDim(), length = typeOf(getInput()).getDimSize(dim);
  Value value = getInput();
  for (int64_t by = 1; by < length; by *= 2) {
    SmallVector<int64_t> starts(typeOf(value).getRank(), 0), low(starts);
    SmallVector<int64_t> sizes(typeOf(value).getShape());
    sizes[dim] = length - by;
    (getReverse() ? starts : low)[dim] = by;
    Value identity = emit.constant(
        getReductionIdentity(getKind(), typeOf(value).getElementType()));
    Value moved =
        PadOp::create(builder, getLoc(), value.getType(),
                      emit.slice(value, starts, sizes), identity, low);
    value = combine(builder, getLoc(), getKind(), moved, value);
  }
  return {value};
}

//===----------------------------------------------------------------------===//
// Sharded dimensions
//===----------------------------------------------------------------------===//

std::optional<SmallVector<spmd::Exchange>>
CumulativeOp::getExchanges(ArrayRef<TensorSharding> layouts) {
  const AxisList &axes = layouts.back().dims[getDim()].axes;
  SmallVector<spmd::Exchange> exchanges;
  if (getSize(axes) == 1)
    return exchanges;
  SmallVector<int64_t> shape =
      getLocalShape(layouts.back(), typeOf(getInput()).getShape());
  shape[getDim()] = 1;
  int64_t bytes =
      int64_t(getVolume(shape)) *
      int64_t(llvm::divideCeil(typeOf(getInput()).getElementTypeBitWidth(), 8));
  exchanges.append(1 + getDoublings(getSize(axes) - 1),
                   {CollectiveKind::CollectivePermute, axes, bytes});
  return exchanges;
}

namespace {

/// Builds the local form: computes the result of each block by itself, then
/// combines it with the totals of all preceding blocks.
class CumulativeLocalizer {
public:
  CumulativeLocalizer(CumulativeOp op, spmd::Localizer &localizer)
      : op(op), localizer(localizer), builder(localizer.getBuilder()),
        loc(op.getLoc()), emit(builder, loc), dim(op.getDim()),
        result(localizer.getLocalType(op.getResult())),
        axes(localizer.getSharding(op.getResult()).dims[dim].axes) {}

  Value run(Value input) {
    int64_t length = typeOf(op.getInput()).getDimSize(dim);
    BlockLayout layout{length, getSize(axes)};
    // Blocks before a device's own are full; blocks after it may end in
    // padding.
    if (op.getReverse() && layout.isUneven())
      input = spmd::MaskOp::create(builder, loc, input.getType(), input,
                                   builder.getDenseI64ArrayAttr({dim}),
                                   getIdentity());
    Value own = CumulativeOp::create(builder, loc, result, op.getKind(), input,
                                     dim, op.getReverse());
    if (layout.k == 1)
      return own;
    return combine(builder, loc, op.getKind(), repeat(getBefore(own)), own);
  }

private:
  TypedAttr getIdentity() {
    return getReductionIdentity(op.getKind(), result.getElementType());
  }

  /// The combined totals of all blocks that precede the device's own.
  Value getBefore(Value own) {
    SmallVector<int64_t> starts(result.getRank(), 0);
    SmallVector<int64_t> strides(result.getRank(), 1);
    SmallVector<int64_t> shape(result.getShape());
    starts[dim] = op.getReverse() ? 0 : shape[dim] - 1;
    shape[dim] = 1;
    // The total is no local part of a tensor, so its type has no encoding.
    Value total = SliceOp::create(
        builder, loc, RankedTensorType::get(shape, result.getElementType()),
        own, starts, strides);
    // As in decompose(), the distance doubles in each step. Each device starts
    // with the total of the preceding block.
    Value before = receive(total, 1);
    for (int64_t by = 1; by < getSize(axes) - 1; by *= 2)
      before = combine(builder, loc, op.getKind(), receive(before, by), before);
    return before;
  }

  /// Returns the value of the device `by` positions before this one. If there
  /// is no such device, returns the identity.
  Value receive(Value value, int64_t by) {
    const Mesh &mesh = localizer.getMesh();
    MLIRContext *context = builder.getContext();
    auto attr = spmd::toAttr(context, mesh, axes);
    Value moved =
        spmd::ShiftOp::create(builder, loc, value.getType(), value, mesh.name,
                              attr, op.getReverse() ? -by : by, "fill");
    // A device without a sender receives zeros, the identity of a sum.
    if (op.getKind() == ReductionKind::Sum)
      return moved;
    auto scalar = RankedTensorType::get({}, builder.getIntegerType(32));
    Value place = spmd::AxisIndexOp::create(
        builder, loc, scalar, FlatSymbolRefAttr::get(context, mesh.name), attr);
    Value hasSender =
        op.getReverse()
            ? emit.compare(ComparePredicate::LT, place,
                           emit.constant(getSize(axes) - by, scalar))
            : emit.compare(ComparePredicate::GE, place,
                           emit.constant(by, scalar));
    ArrayRef<int64_t> shape = typeOf(value).getShape();
    return emit.select(emit.splat(hasSender, shape), moved,
                       emit.splat(emit.constant(getIdentity()), shape));
  }

  /// Repeats a single row for each row of the block.
  Value repeat(Value row) {
    SmallVector<int64_t> shape, dims;
    for (auto [i, size] : llvm::enumerate(result.getShape()))
      if (int64_t(i) != dim) {
        shape.push_back(size);
        dims.push_back(i);
      }
    return BroadcastOp::create(builder, loc, result, emit.reshape(row, shape),
                               dims);
  }

  CumulativeOp op;
  spmd::Localizer &localizer;
  OpBuilder &builder;
  Location loc;
  Emitter emit;
  int64_t dim;
  RankedTensorType result;
  AxisList axes;
};

} // namespace

FailureOr<SmallVector<Value>> CumulativeOp::localize(spmd::Localizer &localizer,
                                                     ValueRange operands) {
  return SmallVector<Value>{
      CumulativeLocalizer(*this, localizer).run(operands[0])};
}
