// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/TP/Strips.h"

#include "dialects/OpError.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;

spmd::Exchange tp::getExchange(ArrayRef<int64_t> shape, Type element,
                               const AxisList &axes) {
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  return {CollectiveKind::CollectivePermute, axes,
          int64_t(getVolume(shape)) * bytes};
}

InFlightDiagnostic tp::emitTooManyExchanges(Operation *op, int64_t dim) {
  return op->emitError() << prefix(ErrorCode::TooManyExchanges)
                         << "each device needs rows from more than "
                         << kMostDistances << " other devices: cut dimension "
                         << dim << " along fewer axes, or gather it";
}

Value tp::emitReversed(OpBuilder &builder, Location loc, Value x, int64_t dim,
                       Type type) {
  Emitter emit(builder, loc);
  int64_t size = typeOf(x).getDimSize(dim);
  Type counter = builder.getIntegerType(size > INT32_MAX ? 64 : 32);
  Value indices = emit.iota(0, {size}, counter);
  indices = emit.binary<SubOp>(emit.constant(size - 1, indices), indices);
  return GatherOp::create(builder, loc, type, x, indices, /*axis=*/dim,
                          /*batch_dims=*/0);
}

/// Returns true if a fetched block is the device's own. The block is that of
/// the device `distance` positions ahead or, if `mirrored`, that of the mirror
/// image of the device `distance` positions ahead. On a ring of k, the mirror
/// image of position p is k - 1 - p, so on a ring of two the mirror image of
/// the next device is the device itself.
static bool isOwn(int64_t distance, bool mirrored, int64_t ring) {
  return mirrored ? ring == 2 && distance == 1 : distance == 0;
}

/// The number of positions on the ring from a device to the device whose block
/// is the i-th of the window.
static int64_t getDistance(const Window &window, size_t i, int64_t ring) {
  return ((window.lowest + int64_t(i)) % ring + ring) % ring;
}

/// Adds a fetch of rows of a block, merged with fetches that it overlaps or
/// touches.
static void addFetch(Fetches &fetches, Fetch added) {
  for (auto *it = fetches.begin(); it != fetches.end();) {
    BlockRows hull = added.rows.hull(it->rows);
    if (it->source != added.source || it->distance != added.distance ||
        it->mirrored != added.mirrored ||
        hull.size() > added.rows.size() + it->rows.size()) {
      ++it;
      continue;
    }
    added.rows = hull;
    it = fetches.erase(it);
  }
  fetches.push_back(added);
}

void tp::addFetches(Fetches &fetches, unsigned source, const Window &window,
                    int64_t ring) {
  for (auto [i, rows] : llvm::enumerate(window.rows)) {
    int64_t distance = getDistance(window, i, ring);
    if (!rows.empty() && !isOwn(distance, window.mirrored, ring))
      addFetch(fetches, {source, distance, window.mirrored, rows});
  }
}

StripLocalizer::StripLocalizer(spmd::Localizer &localizer, Location loc,
                               int64_t dim, const AxisList &axes,
                               ValueRange sources, const Fetches &fetches)
    : localizer(localizer), builder(localizer.getBuilder()), loc(loc),
      emit(builder, loc), dim(dim), axes(axes), sources(sources),
      fetches(fetches) {
  for (const Fetch &run : fetches)
    fetched.push_back(fetch(run));
}

/// The type of a strip with `rows` rows. It has no encoding, because a strip is
/// not the local part of a global tensor.
RankedTensorType StripLocalizer::getStripType(unsigned source, int64_t rows) {
  RankedTensorType local = typeOf(sources[source]);
  SmallVector<int64_t> shape(local.getShape());
  shape[dim] = rows;
  return RankedTensorType::get(shape, local.getElementType());
}

Value StripLocalizer::slice(Value local, BlockRows rows, unsigned source) {
  return slice(local, rows.begin, /*stride=*/1,
               getStripType(source, rows.size()));
}

Value StripLocalizer::slice(Value local, int64_t start, int64_t stride,
                            RankedTensorType type) {
  SmallVector<int64_t> starts(type.getRank(), 0);
  SmallVector<int64_t> strides(type.getRank(), 1);
  starts[dim] = start;
  strides[dim] = stride;
  return SliceOp::create(builder, loc, type, local, starts, strides);
}

Value StripLocalizer::scalar(int64_t value) {
  return emit.constant(value,
                       RankedTensorType::get({}, builder.getIntegerType(32)));
}

Value StripLocalizer::place() {
  auto type = RankedTensorType::get({}, builder.getIntegerType(32));
  return spmd::AxisIndexOp::create(
      builder, loc, type,
      FlatSymbolRefAttr::get(builder.getContext(), localizer.getMesh().name),
      spmd::toAttr(builder.getContext(), localizer.getMesh(), axes));
}

Value StripLocalizer::fetch(const Fetch &run) {
  Value local = sources[run.source];
  BlockRows rows = run.rows;
  if (run.mirrored) {
    int64_t block = typeOf(local).getDimSize(dim);
    rows = {block - rows.end, block - rows.begin};
  }
  Value part = slice(local, rows, run.source);
  // The sender shifts rows back, so that devices receive rows from ahead.
  return spmd::ShiftOp::create(
      builder, loc, part.getType(), part, localizer.getMesh().name,
      spmd::toAttr(builder.getContext(), localizer.getMesh(), axes),
      -run.distance, run.mirrored ? "mirror" : "wrap");
}

/// Returns the rows `wanted`, from the device's own block if `isHere`, else
/// from a fetched block. The rows of a mirrored block are in the order in which
/// the sender stores them.
Value StripLocalizer::getRows(const Fetch &wanted, bool isHere) {
  Value local = sources[wanted.source];
  BlockRows rows = wanted.rows;
  int64_t block = typeOf(local).getDimSize(dim);
  if (isHere)
    return slice(local,
                 wanted.mirrored
                     ? BlockRows{block - rows.end, block - rows.begin}
                     : rows,
                 wanted.source);
  for (auto [run, value] : llvm::zip_equal(fetches, fetched)) {
    BlockRows sent = run.rows;
    if (run.source != wanted.source || run.distance != wanted.distance ||
        run.mirrored != wanted.mirrored || sent.begin > rows.begin ||
        sent.end < rows.end)
      continue;
    int64_t begin =
        run.mirrored ? sent.end - rows.end : rows.begin - sent.begin;
    return slice(value, {begin, begin + rows.size()}, wanted.source);
  }
  llvm_unreachable("all rows of the windows have been fetched");
}

/// Returns the strip of a window: all rows of its blocks in order, with zeros
/// in place of the rows that no device needs. The window may add zeros before
/// and after them (`lead` and `tail`). The strip of a mirrored window is in
/// reverse order.
Value StripLocalizer::getStrip(unsigned source, const Window &window,
                               bool isWhole) {
  int64_t block = typeOf(sources[source]).getDimSize(dim);
  int64_t ring = getSize(axes);
  SmallVector<Value> parts;
  int64_t missing = window.lead, length = 0;
  auto fill = [&] {
    length += missing;
    if (missing > 0) {
      Value zero = emit.constant(
          0,
          RankedTensorType::get({}, typeOf(sources[source]).getElementType()));
      parts.push_back(BroadcastOp::create(builder, loc,
                                          getStripType(source, missing), zero,
                                          ArrayRef<int64_t>()));
    }
    missing = 0;
  };
  for (auto [i, rows] : llvm::enumerate(window.rows)) {
    bool isFirst = i == 0, isLast = i + 1 == window.rows.size();
    if (rows.empty()) {
      missing += block;
      continue;
    }
    int64_t distance = getDistance(window, i, ring);
    missing += isFirst ? 0 : rows.begin;
    fill();
    parts.push_back(getRows({source, distance, window.mirrored, rows},
                            isWhole || isOwn(distance, window.mirrored, ring)));
    length += rows.size();
    missing += isLast ? 0 : block - rows.end;
  }
  missing += window.tail;
  fill();
  if (parts.size() == 1)
    return parts.front();
  if (window.mirrored)
    std::reverse(parts.begin(), parts.end());
  return ConcatOp::create(builder, loc, getStripType(source, length), parts,
                          dim);
}

Value StripLocalizer::getPart(unsigned source, const Window &window,
                              int64_t stride, bool isWhole,
                              RankedTensorType result,
                              llvm::function_ref<Value(Value)> setApart) {
  Value strip = getStrip(source, window, isWhole);
  if (setApart)
    strip = setApart(strip);
  int64_t block = result.getDimSize(dim);
  int64_t span = (block - 1) * stride + 1;
  int64_t offset = window.offset, step = window.step;
  if (window.mirrored) {
    offset = typeOf(strip).getDimSize(dim) - span - offset;
    step = -step;
  }
  if (step != 0) {
    SmallVector<Value> starts(result.getRank(), scalar(0));
    starts[dim] = emit.binary<AddOp>(scalar(offset),
                                     emit.binary<MulOp>(place(), scalar(step)));
    RankedTensorType type =
        stride == 1 && !window.mirrored ? result : getStripType(source, span);
    strip = DynamicSliceOp::create(builder, loc, type, strip, starts);
    offset = 0;
  }
  if (window.mirrored) {
    strip = slice(strip, offset, stride, getStripType(source, block));
    return emitReversed(builder, loc, strip, dim, result);
  }
  return strip.getType() == result && step != 0
             ? strip
             : slice(strip, offset, stride, result);
}
