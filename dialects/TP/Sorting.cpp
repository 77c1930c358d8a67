// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sorting, and the largest elements of rows that may be sharded.

#include "dialects/TP/Emitter.h"

#include "dialects/OpError.h"
#include "tpopt/Dialect/SPMD/SPMD.h"

#include <cmath>

using namespace mlir;
using namespace tp;

LogicalResult SortOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (int64_t(getDim()) < 0 || int64_t(getDim()) >= input.getRank())
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "cannot sort along dimension " << getDim()
           << " of a tensor of rank " << input.getRank();
  RankedTensorType indices = typeOf(getIndices());
  if (getValues().getType() != input ||
      indices.getShape() != input.getShape() ||
      !indices.getElementType().isSignlessInteger(32))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects values of the input's type, and i32 indices of its "
              "shape";
  return success();
}

ShardingRule SortOp::getShardingRule() {
  RuleBuilder rule(1, 2);
  for (auto [dim, size] : llvm::enumerate(typeOf(getInput()).getShape())) {
    unsigned factor = rule.addFactor(size, int64_t(dim) == int64_t(getDim())
                                               ? FactorKind::Whole
                                               : FactorKind::PassThrough);
    for (unsigned tensor : {0, 1, 2})
      rule.addDim(tensor, factor);
  }
  return rule.build();
}

double SortOp::getFlops(ArrayRef<int64_t> sizes) {
  double length = sizes[getDim()];
  return getVolume(sizes) * (length > 2 ? std::log2(length) : 1);
}

FailureOr<SmallVector<TensorValue>>
SortOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  auto [values, indices] =
      evaluator.sort(operands[0], getDim(), getDescending(),
                     typeOf(getValues()), typeOf(getIndices()));
  return SmallVector<TensorValue>{values, indices};
}

LogicalResult TopKOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (input.getRank() == 0)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects an input of rank 1 or more";
  RankedTensorType values = typeOf(getValues()), indices = typeOf(getIndices());
  if (values.getShape() != indices.getShape() ||
      values.getElementType() != input.getElementType() ||
      !indices.getElementType().isSignlessInteger(32) ||
      values.getRank() != input.getRank() ||
      values.getShape().drop_back() != input.getShape().drop_back() ||
      values.getShape().back() > input.getShape().back())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects values of the input's element type and i32 indices, "
              "with the input's shape and a last dimension of at most "
           << input.getShape().back();
  return success();
}

ShardingRule TopKOp::getShardingRule() {
  return spmd::parseShardingRule(*this, "...d~->...k!,...k!");
}

double TopKOp::getFlops(ArrayRef<int64_t> sizes) { return getVolume(sizes); }

SmallVector<Value> TopKOp::decompose(OpBuilder &builder) {
  Emitter emit(builder, getLoc());
  RankedTensorType input = typeOf(getInput());
  auto indexType =
      RankedTensorType::get(input.getShape(), builder.getI32Type());
  auto sorted = SortOp::create(builder, getLoc(), input, indexType, getInput(),
                               input.getRank() - 1, /*descending=*/true);
  SmallVector<int64_t> starts(input.getRank(), 0);
  ArrayRef<int64_t> sizes = typeOf(getValues()).getShape();
  return {emit.slice(sorted.getValues(), starts, sizes),
          emit.slice(sorted.getIndices(), starts, sizes)};
}

namespace {
/// How the largest elements of a sharded row are found: the axes along which
/// the row is split, the number of devices along them, and the number of
/// candidates that each device contributes.
struct Tournament {
  AxisList axes;
  int64_t devices, candidates;

  Tournament(TopKOp op, const TensorSharding &input) {
    int64_t length = typeOf(op.getInput()).getShape().back();
    axes = input.dims.back().axes;
    devices = getSize(axes);
    candidates = std::min(typeOf(op.getValues()).getShape().back(),
                          BlockLayout{length, devices}.block());
  }
};
} // namespace

std::optional<SmallVector<spmd::Exchange>>
TopKOp::getExchanges(ArrayRef<TensorSharding> layouts) {
  SmallVector<spmd::Exchange> exchanges;
  Tournament tournament(*this, layouts[0]);
  if (tournament.devices == 1)
    return exchanges;
  SmallVector<int64_t> shape =
      getLocalShape(layouts[1], typeOf(getValues()).getShape());
  exchanges.push_back({CollectiveKind::AllReduce, tournament.axes,
                       int64_t(getVolume(shape)) * 4});
  shape.back() = tournament.candidates * tournament.devices;
  exchanges.push_back(
      {CollectiveKind::AllGather, tournament.axes,
       int64_t(getVolume(shape)) *
           int64_t(llvm::divideCeil(typeOf(getInput()).getElementTypeBitWidth(),
                                    8))});
  return exchanges;
}

/// Each device takes the largest elements of its block as candidates, and all
/// devices gather the candidates of all blocks, in the order of the blocks. The
/// largest candidates are the winners, and are the result. If elements are
/// equal, those with lower indices win, because candidates are in the order of
/// their indices. Only the device with a winner in its block knows the winner's
/// index. All other devices contribute zero to a sum of the index over the
/// devices.
FailureOr<SmallVector<Value>> TopKOp::localize(spmd::Localizer &localizer,
                                               ValueRange operands) {
  OpBuilder &builder = localizer.getBuilder();
  Location loc = getLoc();
  RankedTensorType values = localizer.getLocalType(getValues());
  RankedTensorType indices = localizer.getLocalType(getIndices());
  const TensorSharding &layout = localizer.getSharding(getInput());
  Tournament tournament(*this, layout);
  if (tournament.devices == 1)
    return SmallVector<Value>(
        create(builder, loc, values, indices, operands[0])->getResults());

  const Mesh &mesh = localizer.getMesh();
  MLIRContext *context = builder.getContext();
  Emitter emit(builder, loc);
  int64_t last = values.getRank() - 1;
  auto toAttr = [&](const TensorSharding &sharding) {
    return spmd::ShardingAttr::get(context, mesh, sharding);
  };
  auto getType = [&](int64_t length, Type element,
                     const TensorSharding &sharding) {
    SmallVector<int64_t> shape(typeOf(getValues()).getShape());
    shape[last] = length;
    return localizer.getLocalType(RankedTensorType::get(shape, element),
                                  sharding);
  };
  auto repeat = [&](Value scalar, RankedTensorType type) -> Value {
    return BroadcastOp::create(builder, loc, type, scalar, ArrayRef<int64_t>());
  };

  // The candidates of a device, with their indices in the whole row.
  TensorSharding cut = layout.getLayout(), whole = cut;
  whole.dims[last].axes.clear();
  int64_t length = tournament.candidates * tournament.devices;
  Type element = values.getElementType(), i32 = indices.getElementType();
  int64_t size = typeOf(getInput()).getDimSize(last);
  Value input = operands[0];
  if (BlockLayout{size, tournament.devices}.isUneven())
    input = localizer.maskPadding(input, last, ReduceKind::Max);
  // Candidates are not yet parts of a tensor: their types have no encoding.
  RankedTensorType sent = getType(length, element, cut);
  auto ownValues = RankedTensorType::get(sent.getShape(), element);
  auto ownIndices = RankedTensorType::get(sent.getShape(), i32);
  auto own = create(builder, loc, ownValues, ownIndices, input);
  Value begin = localizer.getBlockBegin(getInput(), last);
  Value known = AddOp::create(builder, loc, ownIndices, own.getIndices(),
                              repeat(begin, ownIndices));

  // The winners among all candidates, and their positions among these.
  SmallVector<Attribute> gathered(last, spmd::toAttr(context, mesh, {}));
  gathered.push_back(spmd::toAttr(context, mesh, tournament.axes));
  SmallVector<int64_t> starts(last + 1, 0), strides(last + 1, 1);
  Value part =
      SliceOp::create(builder, loc, sent, own.getValues(), starts, strides);
  Value candidates = spmd::AllGatherOp::create(
      builder, loc, getType(length, element, whole), part,
      builder.getArrayAttr(gathered), toAttr(cut), toAttr(whole));
  auto winners = create(builder, loc, values, indices, candidates);

  // The indices of the winners. A device uses 0 as the index of a winner that
  // is not one of the device's candidates.
  Value place = spmd::AxisIndexOp::create(
      builder, loc, typeOf(begin), FlatSymbolRefAttr::get(context, mesh.name),
      spmd::toAttr(context, mesh, tournament.axes));
  Value first = emit.binary<MulOp>(
      place, emit.constant(tournament.candidates, typeOf(begin)));
  Value offsets = SubOp::create(builder, loc, indices, winners.getIndices(),
                                repeat(first, indices));
  TensorSharding addends = localizer.getSharding(getIndices()).getLayout();
  TensorSharding sum = addends;
  addends.unreduced = tournament.axes;
  llvm::sort(addends.unreduced);
  Value found = GatherOp::create(builder, loc,
                                 getType(values.getDimSize(last), i32, addends),
                                 known, offsets, /*axis=*/last,
                                 /*batch_dims=*/last);
  Value index =
      spmd::AllReduceOp::create(builder, loc, indices, found,
                                spmd::toAttr(context, mesh, addends.unreduced),
                                toAttr(addends), toAttr(sum));
  return SmallVector<Value>{winners.getValues(), index};
}
