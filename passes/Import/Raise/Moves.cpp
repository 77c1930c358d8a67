// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Moves: slices, pads and concatenations of each other take what they use.
//
//     %p = tp.pad %x, %zero low = [1] : 64 -> 65      %y = tp.splice %zero, %x
//     %y = tp.slice %p [0, 64) : 65 -> 64        ->     sizes = [1, 63] : 64
//
// 65 rows have other blocks than 64, and to cut them all rows would move. What
// only shifts a value, such as %y and a roll, is a splice: its dimension has
// one factor on both sides, so that what is computed between two shifts is cut
// like everything else. Where it is not cut after all, tp-partition writes the
// splice as slices, a pad or a concatenation again.

#include "Moves.h"

#include "dialects/TP/Emitter.h"
#include "dialects/TP/SplicePieces.h"

#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::raise;

namespace {

/// The most pieces of a move: past that, composing would copy lists for ever.
constexpr size_t kMostPieces = 16;

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Whether somebody said something of the value, such as a sharding, so that it
/// must stay.
bool isSaid(Operation *op) {
  return !op->getDiscardableAttrDictionary().empty();
}

/// Whether all that is not fill comes from one value of the result's shape.
bool isShift(const SplicePieces &pieces, Type result) {
  Value source;
  for (const SplicePiece &piece : pieces.pieces) {
    if (piece.isFill())
      continue;
    if (source && source != piece.input)
      return false;
    source = piece.input;
  }
  return source && source.getType() == result && pieces.pieces.size() > 1;
}

/// Adds what `piece` is made of to `pieces`, through moves along the same
/// dimension in its block. Returns whether there are any.
bool addExpanded(SplicePieces &pieces, const SplicePiece &piece, Block *block,
                 unsigned depth = 0) {
  Operation *def = piece.input.getDefiningOp();
  bool isMove = isa_and_nonnull<SliceOp, PadOp, ConcatOp, SpliceOp>(def) &&
                def->getBlock() == block && !isSaid(def);
  std::optional<SplicePieces> inner =
      isMove && !piece.isFill() && depth < kMostPieces ? getSplicePieces(def)
                                                       : std::nullopt;
  if (!inner || inner->dim != pieces.dim) {
    pieces.add(piece);
    return false;
  }
  for (const SplicePiece &part : inner->clip(piece.start, piece.size).pieces)
    addExpanded(pieces, part, block, depth + 1);
  return true;
}

/// A move along one dimension, whose inputs may be moves themselves; none if it
/// is no simpler for that.
std::optional<SplicePieces> compose(Operation *op) {
  std::optional<SplicePieces> own = getSplicePieces(op);
  if (!own)
    return std::nullopt;
  bool composed = false;
  SplicePieces pieces{own->dim, {}};
  for (const SplicePiece &piece : own->pieces)
    composed |= addExpanded(pieces, piece, op->getBlock());
  bool isShorter = isa<SliceOp, SpliceOp>(op)
                       ? composed
                       : pieces.pieces.size() < own->pieces.size();
  bool isNewShift =
      !isa<SpliceOp>(op) && isShift(pieces, op->getResult(0).getType());
  if (!(isShorter || isNewShift) || pieces.pieces.size() > kMostPieces)
    return std::nullopt;
  // An annotation of the result is not one of the value that it equals.
  if (isSaid(op) && pieces.isIdentity())
    return std::nullopt;
  return pieces;
}

/// Writes the pieces before `op`: a splice where they shift one value, else
/// slices, a pad or a concatenation.
Value write(const SplicePieces &pieces, Operation *op, Type type) {
  if (pieces.isIdentity())
    return pieces.pieces.front().input;
  OpBuilder builder(op);
  auto splice =
      cast<SpliceOp>(pieces.build(builder, op->getLoc(), type).getDefiningOp());
  if (isShift(pieces, type))
    return splice;
  Value value = splice.decompose(builder).front();
  splice.erase();
  return value;
}

void replace(Operation *op, Value value) {
  // What was said of the result is said of the value that takes its place.
  if (isSaid(op))
    value.getDefiningOp()->setDiscardableAttrs(
        op->getDiscardableAttrDictionary());
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

/// A slice of a pad in several dimensions, as a move along each. Null if it is
/// something else.
Value composeBox(SliceOp slice) {
  auto pad = slice.getInput().getDefiningOp<PadOp>();
  if (!pad || isSaid(pad) || isSaid(slice) ||
      pad->getBlock() != slice->getBlock() ||
      llvm::is_contained(slice.getType().getShape(), 0) ||
      llvm::is_contained(shapeOf(pad.getInput()), 0) ||
      llvm::any_of(slice.getStrides(), [](int64_t s) { return s != 1; }))
    return {};
  Value value = pad.getInput();
  for (auto [dim, low, start, size] : llvm::enumerate(
           pad.getLow(), slice.getStarts(), slice.getType().getShape())) {
    int64_t length = shapeOf(pad.getInput())[dim];
    SplicePieces padded{int64_t(dim), {}};
    padded.add({pad.getValue(), 0, low});
    padded.add({value, 0, length});
    padded.add(
        {pad.getValue(), 0, pad.getType().getDimSize(dim) - low - length});
    SmallVector<int64_t> shape(shapeOf(value));
    shape[dim] = size;
    value =
        write(padded.clip(start, size), slice, slice.getType().clone(shape));
  }
  return value;
}

/// Every s-th element of a dimension whose length s divides, as one element of
/// each group of s: which group a device has does not depend on the stride, so
/// that nothing moves where s divides blocks. Null if there is no such stride.
Value groupStrides(SliceOp slice) {
  SmallVector<int64_t> grouped, starts, sizes;
  bool hasGroups = false;
  for (auto [length, start, stride, size] :
       llvm::zip_equal(shapeOf(slice.getInput()), slice.getStarts(),
                       slice.getStrides(), slice.getType().getShape())) {
    if (stride > 1 && size > 1 && size * stride == length) {
      hasGroups = true;
      grouped.append({size, stride});
      starts.append({0, start});
      sizes.append({size, 1});
    } else if (stride > 1) {
      return {};
    } else {
      grouped.push_back(length);
      starts.push_back(start);
      sizes.push_back(size);
    }
  }
  if (!hasGroups)
    return {};
  OpBuilder builder(slice);
  Emitter emit(builder, slice.getLoc());
  Value part =
      emit.slice(emit.reshape(slice.getInput(), grouped), starts, sizes);
  return emit.reshape(part, slice.getType().getShape());
}

/// What `op` is replaced by; null if it stays.
Value rewrite(Operation *op) {
  if (std::optional<SplicePieces> pieces = compose(op))
    return write(*pieces, op, op->getResult(0).getType());
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice)
    return {};
  if (Value value = composeBox(slice))
    return value;
  return groupStrides(slice);
}

} // namespace

bool tp::raise::composeMoves(Region &region) {
  bool changed = false;
  for (Block &block : region)
    for (Operation &op : llvm::make_early_inc_range(block)) {
      for (Region &inner : op.getRegions())
        changed |= composeMoves(inner);
      if (!isa<SliceOp, PadOp, ConcatOp, SpliceOp>(op) || op.use_empty())
        continue;
      SmallVector<Value> inputs(op.getOperands());
      Value value = rewrite(&op);
      if (!value)
        continue;
      changed = true;
      replace(&op, value);
      // Moves that nothing takes any more, from the last to the first.
      while (!inputs.empty()) {
        Operation *def = inputs.pop_back_val().getDefiningOp();
        if (!def || !isOpTriviallyDead(def))
          continue;
        llvm::append_range(inputs, def->getOperands());
        def->erase();
      }
    }
  return changed;
}
