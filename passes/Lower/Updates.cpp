// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Updates.h"

#include "LegalizeForStep.h"

using namespace mlir;
using namespace tp;

UpdatePart tp::getWholeUpdate(DynamicUpdateSliceOp op) {
  UpdatePart part{op.getUpdate(), View(), op.getStarts()};
  part.place.element = op.getType().getElementType();
  part.place.shape.assign(op.getType().getShape());
  part.place.strides = step::getDenseStrides(op.getType().getShape());
  std::optional<Motion> motion = getMotion(op);
  if (!motion)
    return part;
  int64_t by = 0;
  for (auto [move, stride] : llvm::zip_equal(motion->moves, part.place.strides))
    by += move * stride;
  // Kernels rely on the alignment of buffers.
  if (by * step::getElementBytes(part.place.element) % step::kArenaAlignment !=
      0)
    return part;
  ArrayRef<int64_t> sizes = shapeOf(op.getUpdate());
  part.place = part.place.slice(motion->starts, sizes,
                                SmallVector<int64_t>(sizes.size(), 1));
  part.place.by = by;
  part.starts.assign(sizes.size(), nullptr);
  return part;
}

/// Moves the dimensions of `order` to the front.
static UpdatePart permute(const UpdatePart &part, SmallVector<int64_t> order) {
  UpdatePart result = part;
  for (int64_t dim = 0, e = part.starts.size(); dim < e; ++dim)
    if (!llvm::is_contained(order, dim))
      order.push_back(dim);
  result.place = part.place.transpose(order);
  for (auto [start, dim] : llvm::zip(result.starts, order))
    start = part.starts[dim];
  return result;
}

static UpdatePart lookThrough(const UpdatePart &part, TransposeOp op) {
  SmallVector<int64_t> order(op.getPermutation().size());
  for (auto [i, dim] : llvm::enumerate(op.getPermutation()))
    order[dim] = i;
  UpdatePart result = permute(part, order);
  result.value = op.getInput();
  return result;
}

/// Describes the input of a reshape as a part of the update; `part` is the
/// result of the reshape. Returns none if the reshape merges a dimension along
/// which `part.place` is longer than the part, or if strides cannot describe
/// the place of the input.
static std::optional<UpdatePart> lookThrough(const UpdatePart &part,
                                             ReshapeOp op) {
  ArrayRef<int64_t> from = shapeOf(op.getInput()), to = shapeOf(op.getResult());
  // Skip dimensions in which the part has size 1 and `part.place` is longer:
  // they need not correspond to a dimension of the reshape's input.
  SmallVector<int64_t> order;
  for (auto [dim, size] : llvm::enumerate(to))
    if (size != 1 || part.place.shape[dim] == 1)
      order.push_back(dim);
  size_t count = order.size();
  UpdatePart result = permute(part, order);

  SmallVector<int64_t> room(from);
  SmallVector<Value> starts(from.size());
  int64_t outer = 1;
  for (auto [i, dim] : llvm::enumerate(order)) {
    if (result.place.shape[i] != to[dim]) {
      size_t same = 0;
      int64_t before = 1;
      while (same < from.size() && (before < outer || from[same] == 1))
        before *= from[same++];
      if (same == from.size() || before != outer || from[same] != to[dim])
        return std::nullopt;
      room[same] = result.place.shape[i];
      starts[same] = result.starts[i];
    }
    outer *= to[dim];
  }
  View along = result.place;
  along.shape.truncate(count);
  along.strides.truncate(count);
  std::optional<View> place = along.reshape(room);
  if (!place)
    return std::nullopt;
  auto appendRest = [&](auto &list, const auto &all) {
    list.append(all.begin() + count, all.end());
  };
  appendRest(place->shape, result.place.shape);
  appendRest(place->strides, result.place.strides);
  appendRest(starts, result.starts);
  return UpdatePart{op.getInput(), *place, starts};
}

static void collect(const UpdatePart &part,
                    SmallVectorImpl<UpdatePart> &parts) {
  Operation *op = part.value.getDefiningOp();
  if (auto transpose = dyn_cast_if_present<TransposeOp>(op))
    return collect(lookThrough(part, transpose), parts);
  if (auto reshape = dyn_cast_if_present<ReshapeOp>(op))
    if (std::optional<UpdatePart> before = lookThrough(part, reshape))
      return collect(*before, parts);
  auto concat = dyn_cast_if_present<ConcatOp>(op);
  if (!concat)
    return parts.push_back(part);
  int64_t dim = concat.getDim(), begin = 0;
  int64_t room = part.place.shape[dim] - shapeOf(part.value)[dim];
  SmallVector<int64_t> starts(part.starts.size(), 0), ones(starts.size(), 1);
  for (Value input : concat.getInputs()) {
    SmallVector<int64_t> sizes(part.place.shape);
    starts[dim] = begin;
    sizes[dim] = shapeOf(input)[dim] + room;
    collect({input, part.place.slice(starts, sizes, ones), part.starts}, parts);
    begin += shapeOf(input)[dim];
  }
}

SmallVector<UpdatePart> tp::getUpdateParts(DynamicUpdateSliceOp op) {
  SmallVector<UpdatePart> parts;
  collect(getWholeUpdate(op), parts);
  return parts;
}
