// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Moves: nested slices, pads and concatenations are composed, so that they read
// the original values directly.
//
//     %p = tp.pad %x, %zero low = [1] : 64 -> 65      %y = tp.splice %zero, %x
//     %y = tp.slice %p [0, 64) : 65 -> 64        ->     sizes = [1, 63] : 64
//
// 65 rows are divided into different blocks than 64 rows, so sharding both
// would move all rows between devices. An op that only shifts a value, such as
// %y or a roll, becomes a splice, and so does an op that takes elements with a
// stride. In the sharding rule of a splice, the dimension has one factor for
// operands and result, so that sharding propagates through shifts. If the
// dimension is not sharded after all, tp-partition writes the splice as slices,
// a pad or a concatenation again.

#include "Moves.h"

#include "dialects/TP/SplicePieces.h"
#include "dialects/TP/Windows.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::raise;

namespace {

/// The maximum number of pieces of a move: with more, composing moves would
/// copy long lists again and again.
constexpr size_t kMostPieces = 16;

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Returns true if the value is annotated, for example with a sharding, and
/// therefore must stay.
bool isSaid(Operation *op) {
  return !op->getDiscardableAttrDictionary().empty();
}

/// Returns true if some piece skips elements or reads them backwards.
bool hasStrides(const SplicePieces &pieces) {
  return llvm::any_of(pieces.pieces, [](const SplicePiece &piece) {
    return piece.stride != 1;
  });
}

/// Returns true if all elements that are not fill come from one value, which
/// has the result's shape.
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

/// Adds `piece` to `pieces`. If `piece` reads the result of a slice, pad,
/// concatenation or splice along the same dimension in the same block, adds
/// that op's pieces instead, and returns true.
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
  for (const SplicePiece &part :
       inner->take(piece.start, piece.size, piece.stride).pieces)
    addExpanded(pieces, part, block, depth + 1);
  return true;
}

/// Merges an op that moves data along one dimension with the moves that compute
/// its inputs. Returns nullopt if the result is not simpler.
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
  bool isNewSplice =
      !isa<SpliceOp>(op) &&
      (isShift(pieces, op->getResult(0).getType()) || hasStrides(pieces));
  if (!(isShorter || isNewSplice) || pieces.pieces.size() > kMostPieces)
    return std::nullopt;
  // The annotation belongs to the result only, not to the input that the result
  // equals.
  if (isSaid(op) && pieces.isIdentity())
    return std::nullopt;
  return pieces;
}

/// Writes the pieces before `op`: as a splice if they shift one value or have
/// strides, otherwise as slices, a pad or a concatenation.
Value write(const SplicePieces &pieces, Operation *op, Type type) {
  if (pieces.isIdentity())
    return pieces.pieces.front().input;
  OpBuilder builder(op);
  auto splice =
      cast<SpliceOp>(pieces.build(builder, op->getLoc(), type).getDefiningOp());
  if (isShift(pieces, type) || hasStrides(pieces))
    return splice;
  Value value = splice.decompose(builder).front();
  splice.erase();
  return value;
}

void replace(Operation *op, Value value) {
  // The annotations of the result are kept on the value that replaces it.
  if (isSaid(op))
    value.getDefiningOp()->setDiscardableAttrs(
        op->getDiscardableAttrDictionary());
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

/// Rewrites a slice with strides, or a slice of a pad, as one move along each
/// dimension. Returns null for other slices.
Value composeBox(SliceOp slice) {
  auto pad = slice.getInput().getDefiningOp<PadOp>();
  if (pad && (isSaid(pad) || pad->getBlock() != slice->getBlock()))
    pad = {};
  bool hasStrides = llvm::any_of(
      llvm::zip_equal(slice.getStrides(), slice.getType().getShape()),
      [](auto entry) {
        auto [stride, size] = entry;
        return stride != 1 && size > 1;
      });
  if (isSaid(slice) || (!pad && !hasStrides) ||
      llvm::is_contained(slice.getType().getShape(), 0))
    return {};
  Value value = pad ? pad.getInput() : slice.getInput();
  if (llvm::is_contained(shapeOf(value), 0))
    return {};
  for (auto [dim, start, size, stride] : llvm::enumerate(
           slice.getStarts(), slice.getType().getShape(), slice.getStrides())) {
    SmallVector<int64_t> shape(shapeOf(value));
    SplicePieces whole{int64_t(dim), {}};
    int64_t low = pad ? pad.getLow()[dim] : 0;
    if (pad)
      whole.add({pad.getValue(), 0, low});
    whole.add({value, 0, shape[dim]});
    if (pad)
      whole.add({pad.getValue(), 0,
                 pad.getType().getDimSize(dim) - low - shape[dim]});
    shape[dim] = size;
    value = write(whole.take(start, size, size == 1 ? 1 : stride), slice,
                  slice.getType().clone(shape));
  }
  return value;
}

/// If `window` reads a piece of a value, possibly surrounded by fill, rewrites
/// it as windows of the value itself. Returns null if these windows would
/// contain elements of the value outside of the piece.
Value composeWindow(WindowOp window) {
  Operation *def = window.getInput().getDefiningOp();
  if (!isa_and_nonnull<SliceOp, PadOp, ConcatOp, SpliceOp>(def) ||
      def->getBlock() != window->getBlock() || isSaid(def))
    return {};
  std::optional<SplicePieces> pieces = getSplicePieces(def);
  auto surrounded = pieces ? pieces->getSurrounded() : std::nullopt;
  const auto *at = pieces ? llvm::find(window.getDims(), pieces->dim) : nullptr;
  if (!surrounded || surrounded->piece.stride != 1 ||
      at == window.getDims().end())
    return {};
  const SplicePiece &piece = surrounded->piece;
  unsigned i = at - window.getDims().begin();
  auto [first, end] = window.getReach(i);
  int64_t shift = piece.start - surrounded->low,
          size = shapeOf(piece.input)[pieces->dim];
  // The slice or pad keeps elements [shown, last) of its input. Windows of the
  // input must not contain any other elements.
  int64_t shown = piece.start, last = shown + piece.size;
  if ((shown > 0 && first + shift < shown) ||
      (last < size && end + shift > last))
    return {};
  Value fill = window.getFill();
  if (surrounded->fill) {
    if (fill && !isSameScalar(fill, surrounded->fill))
      return {};
    fill = surrounded->fill;
  }
  SmallVector<int64_t> low(window.getLow());
  low[i] -= shift;
  OpBuilder builder(window);
  return emitWindow(builder, window.getLoc(), window.getType(), piece.input,
                    fill, window.getDims(), low, window.getStrides(),
                    window.getDilations());
}

/// Returns true if a value is a slice, pad, concatenation or splice along
/// `dim`, or is computed element-wise from such values only. Any range of the
/// value's elements along `dim` can then be computed in the same way.
bool isMadeOfMoves(Value value, int64_t dim, Block *block, unsigned depth = 0) {
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != block || isSaid(def) || depth > kMostPieces)
    return false;
  if (std::optional<SplicePieces> pieces = getSplicePieces(def))
    return pieces->dim == dim;
  return def->hasTrait<Elementwise>() && def->getNumResults() == 1 &&
         def->hasOneUse() && llvm::all_of(def->getOperands(), [&](Value input) {
           return isMadeOfMoves(input, dim, block, depth + 1);
         });
}

/// Writes, before `slice`, ops that compute only the elements `part` of
/// `value`. isMadeOfMoves() must be true for `value`.
Value takePart(Value value, const SplicePiece &part, int64_t dim,
               SliceOp slice) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = part.size;
  Operation *def = value.getDefiningOp();
  if (std::optional<SplicePieces> pieces = getSplicePieces(def))
    return write(pieces->take(part.start, part.size, part.stride), slice,
                 type.clone(shape));
  SmallVector<Value> operands;
  for (Value input : def->getOperands())
    operands.push_back(takePart(input, part, dim, slice));
  OpBuilder builder(slice);
  Operation *copy = builder.clone(*def);
  copy->setOperands(operands);
  copy->getResult(0).setType(type.clone(shape));
  return copy->getResult(0);
}

/// Rewrites slices that remove the padding from a sum of padded values, as in
/// gradients of stencils: if 64 rows are padded to 67, the 67 rows are never
/// computed. Returns null for other slices.
Value sliceSum(SliceOp slice) {
  Operation *def = slice.getInput().getDefiningOp();
  std::optional<SplicePieces> pieces = getSplicePieces(slice);
  if (!pieces || !def || !def->hasTrait<Elementwise>() || isSaid(slice) ||
      !isMadeOfMoves(slice.getInput(), pieces->dim, slice->getBlock()))
    return {};
  return takePart(slice.getInput(), pieces->pieces.front(), pieces->dim, slice);
}

/// Returns true if the op is a pure reshape: it only adds or drops dimensions
/// of size 1, or splits or joins other dimensions.
bool isReshape(Operation *op) {
  auto reduce = dyn_cast_if_present<ReduceOp>(op);
  if (!reduce)
    return isa_and_nonnull<ReshapeOp>(op);
  auto type = cast<RankedTensorType>(reduce.getInput().getType());
  return llvm::all_of(reduce.getDims(),
                      [&](int64_t dim) { return type.getDimSize(dim) == 1; });
}

/// If a chain of reshapes restores an earlier value, returns that value;
/// otherwise returns null.
Value findUnchanged(ReshapeOp reshape) {
  Value value = reshape.getInput();
  for (Operation *inner = value.getDefiningOp();
       isReshape(inner) && !isSaid(inner) &&
       inner->getBlock() == reshape->getBlock();
       inner = value.getDefiningOp()) {
    value = inner->getOperand(0);
    if (value.getType() == reshape.getType())
      return value;
  }
  return {};
}

/// Returns the value that replaces the result of `op`; null if `op` is kept.
Value rewrite(Operation *op) {
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return isSaid(op) ? Value() : findUnchanged(reshape);
  if (auto window = dyn_cast<WindowOp>(op))
    return composeWindow(window);
  if (std::optional<SplicePieces> pieces = compose(op))
    return write(*pieces, op, op->getResult(0).getType());
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice)
    return {};
  Value sum = sliceSum(slice);
  return sum ? sum : composeBox(slice);
}

} // namespace

bool tp::raise::composeMoves(Region &region) {
  bool changed = false;
  for (Block &block : region)
    for (Operation &op : llvm::make_early_inc_range(block)) {
      for (Region &inner : op.getRegions())
        changed |= composeMoves(inner);
      if (!isa<SliceOp, PadOp, ConcatOp, SpliceOp, WindowOp, ReshapeOp>(op) ||
          op.use_empty())
        continue;
      // Collects each input once, because an op may use a value twice.
      llvm::SmallSetVector<Operation *, 4> inputs;
      auto addInputs = [&](Operation *user) {
        for (Value input : user->getOperands())
          if (Operation *def = input.getDefiningOp())
            inputs.insert(def);
      };
      addInputs(&op);
      Value value = rewrite(&op);
      if (!value)
        continue;
      changed = true;
      replace(&op, value);
      // Erases moves that are no longer used, from the last to the first.
      while (!inputs.empty()) {
        Operation *def = inputs.pop_back_val();
        if (!isOpTriviallyDead(def))
          continue;
        addInputs(def);
        def->erase();
      }
    }
  return changed;
}
