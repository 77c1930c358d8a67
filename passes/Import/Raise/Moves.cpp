// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Moves: slices, pads and concatenations of each other take what they use.
//
//     %p = tp.pad %x, %zero low = [1] : 64 -> 65      %y = tp.splice %zero, %x
//     %y = tp.slice %p [0, 64) : 65 -> 64        ->     sizes = [1, 63] : 64
//
// 65 rows have other blocks than 64, and to cut them all rows would move. What
// only shifts a value, such as %y and a roll, is a splice, and so is what takes
// elements of a stride: its dimension has one factor on both sides, so that
// what is computed between two shifts is cut like everything else. Where it is
// not cut after all, tp-partition writes the splice as slices, a pad or a
// concatenation again.

#include "Moves.h"

#include "dialects/TP/SplicePieces.h"
#include "dialects/TP/Windows.h"

#include "llvm/ADT/SetVector.h"
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

/// Whether some piece skips elements or reads them backwards.
bool hasStrides(const SplicePieces &pieces) {
  return llvm::any_of(pieces.pieces, [](const SplicePiece &piece) {
    return piece.stride != 1;
  });
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
  for (const SplicePiece &part :
       inner->take(piece.start, piece.size, piece.stride).pieces)
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
  bool isNewSplice =
      !isa<SpliceOp>(op) &&
      (isShift(pieces, op->getResult(0).getType()) || hasStrides(pieces));
  if (!(isShorter || isNewSplice) || pieces.pieces.size() > kMostPieces)
    return std::nullopt;
  // An annotation of the result is not one of the value that it equals.
  if (isSaid(op) && pieces.isIdentity())
    return std::nullopt;
  return pieces;
}

/// Writes the pieces before `op`: a splice where they shift one value or have
/// strides, else slices, a pad or a concatenation.
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
  // What was said of the result is said of the value that takes its place.
  if (isSaid(op))
    value.getDefiningOp()->setDiscardableAttrs(
        op->getDiscardableAttrDictionary());
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

/// A slice of several dimensions, of a pad or with strides, as a move along
/// each. Null if it is something else.
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

/// Windows of what a move surrounds are windows of its input, which begin
/// earlier. Null if they would see of it what the move takes away.
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
  // The input's elements that the move shows, and those that windows reach.
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

/// Whether a value is a move along `dim`, or computed element by element of
/// such and of nothing else: then parts of it are, too.
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

/// The part of such a value that a slice takes, computed before it.
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

/// Sums of what is padded, of which the padding is cut off again, as gradients
/// of stencils have them: 67 rows made of 64 are never a value. Null if it is
/// something else.
Value sliceSum(SliceOp slice) {
  Operation *def = slice.getInput().getDefiningOp();
  std::optional<SplicePieces> pieces = getSplicePieces(slice);
  if (!pieces || !def || !def->hasTrait<Elementwise>() || isSaid(slice) ||
      !isMadeOfMoves(slice.getInput(), pieces->dim, slice->getBlock()))
    return {};
  return takePart(slice.getInput(), pieces->pieces.front(), pieces->dim, slice);
}

/// Whether an op only adds or drops dimensions of size 1, or splits and joins
/// others.
bool isReshape(Operation *op) {
  auto reduce = dyn_cast_if_present<ReduceOp>(op);
  if (!reduce)
    return isa_and_nonnull<ReshapeOp>(op);
  auto type = cast<RankedTensorType>(reduce.getInput().getType());
  return llvm::all_of(reduce.getDims(),
                      [&](int64_t dim) { return type.getDimSize(dim) == 1; });
}

/// The earlier value that a chain of reshapes restores; null if there is none.
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

/// What `op` is replaced by; null if it stays.
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
      // Each once, as an op may take a value twice.
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
      // Moves that nothing takes any more, from the last to the first.
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
