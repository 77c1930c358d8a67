// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SplicePieces.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

bool SplicePiece::isFill() const { return shapeOf(input).empty(); }

bool SplicePiece::isWhole(int64_t dim) const {
  return !isFill() && start == 0 && size == shapeOf(input)[dim];
}

void SplicePieces::add(SplicePiece piece) {
  if (piece.size == 0)
    return;
  if (!pieces.empty() && pieces.back().input == piece.input &&
      (piece.isFill() ||
       pieces.back().start + pieces.back().size == piece.start))
    pieces.back().size += piece.size;
  else
    pieces.push_back(piece);
}

SplicePieces SplicePieces::clip(int64_t start, int64_t size) const {
  SplicePieces clipped{dim, {}};
  int64_t at = 0;
  for (const SplicePiece &piece : pieces) {
    int64_t begin = std::max(at, start);
    int64_t end = std::min(at + piece.size, start + size);
    if (begin < end)
      clipped.add({piece.input, piece.isFill() ? 0 : piece.start + begin - at,
                   end - begin});
    at += piece.size;
  }
  return clipped;
}

Value SplicePieces::build(OpBuilder &builder, Location loc, Type type) const {
  SmallVector<Value> inputs;
  SmallVector<int64_t> starts, sizes;
  for (const SplicePiece &piece : pieces) {
    inputs.push_back(piece.input);
    starts.push_back(piece.start);
    sizes.push_back(piece.size);
  }
  return SpliceOp::create(builder, loc, type, inputs, dim, starts, sizes);
}

/// The one dimension in which two shapes differ; none if they have zeros.
static std::optional<int64_t> getOnlyDifference(ArrayRef<int64_t> a,
                                                ArrayRef<int64_t> b) {
  std::optional<int64_t> found;
  for (int64_t dim = 0, e = a.size(); dim < e; ++dim) {
    if (a[dim] == 0 || b[dim] == 0 || (a[dim] != b[dim] && found))
      return std::nullopt;
    if (a[dim] != b[dim])
      found = dim;
  }
  return found;
}

static std::optional<SplicePieces> getPieces(SliceOp op) {
  // Elsewhere a stride changes nothing, but pieces would not say it again.
  std::optional<int64_t> dim =
      getOnlyDifference(shapeOf(op.getInput()), op.getType().getShape());
  if (!dim || llvm::any_of(op.getStrides(), [](int64_t s) { return s != 1; }))
    return std::nullopt;
  SplicePieces pieces{*dim, {}};
  pieces.add(
      {op.getInput(), op.getStarts()[*dim], op.getType().getDimSize(*dim)});
  return pieces;
}

static std::optional<SplicePieces> getPieces(PadOp op) {
  ArrayRef<int64_t> input = shapeOf(op.getInput());
  std::optional<int64_t> dim =
      getOnlyDifference(input, op.getType().getShape());
  if (!dim)
    return std::nullopt;
  int64_t low = op.getLow()[*dim];
  SplicePieces pieces{*dim, {}};
  pieces.add({op.getValue(), 0, low});
  pieces.add({op.getInput(), 0, input[*dim]});
  pieces.add(
      {op.getValue(), 0, op.getType().getDimSize(*dim) - low - input[*dim]});
  return pieces;
}

static std::optional<SplicePieces> getPieces(ConcatOp op) {
  // One input is no choice of pieces: nothing would be left of the op.
  SplicePieces pieces{int64_t(op.getDim()), {}};
  if (llvm::is_contained(op.getType().getShape(), 0) ||
      op.getInputs().size() == 1)
    return std::nullopt;
  for (Value input : op.getInputs()) {
    if (shapeOf(input)[pieces.dim] == 0)
      return std::nullopt;
    pieces.add({input, 0, shapeOf(input)[pieces.dim]});
  }
  return pieces;
}

static std::optional<SplicePieces> getPieces(SpliceOp op) {
  SplicePieces pieces{int64_t(op.getDim()), {}};
  for (auto [input, start, size] :
       llvm::zip_equal(op.getInputs(), op.getStarts(), op.getSizes()))
    pieces.add({input, start, size});
  return pieces;
}

std::optional<SplicePieces> tp::getSplicePieces(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<SplicePieces>>(op)
      .Case<SliceOp, PadOp, ConcatOp, SpliceOp>(
          [](auto move) { return getPieces(move); })
      .Default(std::optional<SplicePieces>());
}
