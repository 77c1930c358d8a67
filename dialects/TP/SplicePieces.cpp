// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SplicePieces.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

bool SplicePiece::isFill() const { return shapeOf(input).empty(); }

bool SplicePiece::isWhole(int64_t dim) const {
  return !isFill() && start == 0 && stride == 1 && size == shapeOf(input)[dim];
}

void SplicePieces::add(SplicePiece piece) {
  if (piece.size == 0)
    return;
  if (piece.size == 1)
    piece.stride = 1;
  if (!pieces.empty()) {
    SplicePiece &last = pieces.back();
    bool goesOn =
        piece.isFill() || (last.stride == piece.stride &&
                           last.start + last.size * last.stride == piece.start);
    if (last.input == piece.input && goesOn) {
      last.size += piece.size;
      return;
    }
  }
  pieces.push_back(piece);
}

bool tp::isSameScalar(Value a, Value b) {
  Attribute valueOfA, valueOfB;
  return a == b ||
         (matchPattern(a, m_Constant(&valueOfA)) &&
          matchPattern(b, m_Constant(&valueOfB)) && valueOfA == valueOfB);
}

std::optional<SurroundedPiece> SplicePieces::getSurrounded() const {
  std::optional<SurroundedPiece> found;
  Value fill;
  int64_t before = 0;
  for (const SplicePiece &piece : pieces) {
    if (!piece.isFill()) {
      if (found)
        return std::nullopt;
      found = {piece, Value(), before};
      continue;
    }
    if (fill && !isSameScalar(fill, piece.input))
      return std::nullopt;
    fill = piece.input;
    before += piece.size;
  }
  if (found)
    found->fill = fill;
  return found;
}

SplicePieces SplicePieces::take(int64_t start, int64_t size,
                                int64_t stride) const {
  SplicePieces taken{dim, {}};
  SmallVector<int64_t> ends;
  int64_t end = 0;
  for (const SplicePiece &piece : pieces)
    ends.push_back(end += piece.size);
  int64_t step = std::abs(stride);
  for (int64_t i = 0; i < size;) {
    int64_t at = start + i * stride;
    size_t number = llvm::upper_bound(ends, at) - ends.begin();
    const SplicePiece &piece = pieces[number];
    int64_t offset = at - (ends[number] - piece.size);
    // How many elements of this piece can still be read after `at`, in the
    // direction of `stride`.
    int64_t room = stride > 0 ? piece.size - 1 - offset : offset;
    int64_t count = std::min(size - i, room / step + 1);
    if (piece.isFill())
      taken.add({piece.input, 0, count});
    else
      taken.add({piece.input, piece.start + offset * piece.stride, count,
                 piece.stride * stride});
    i += count;
  }
  return taken;
}

Value SplicePieces::build(OpBuilder &builder, Location loc, Type type) const {
  SmallVector<Value> inputs;
  SmallVector<int64_t> starts, sizes, strides;
  for (const SplicePiece &piece : pieces) {
    inputs.push_back(piece.input);
    starts.push_back(piece.start);
    sizes.push_back(piece.size);
    strides.push_back(piece.stride);
  }
  bool hasStrides = llvm::any_of(strides, [](int64_t s) { return s != 1; });
  return SpliceOp::create(builder, loc, type, inputs, dim, starts, sizes,
                          hasStrides ? builder.getDenseI64ArrayAttr(strides)
                                     : DenseI64ArrayAttr());
}

/// The only dimension in which two shapes differ; nullopt if they differ in no
/// dimension or several, or if a size is 0.
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
  std::optional<int64_t> dim =
      getOnlyDifference(shapeOf(op.getInput()), op.getType().getShape());
  if (!dim)
    return std::nullopt;
  // In a dimension of size 1, strides have no effect, and a slice may have any.
  // Pieces cannot record a stride other than 1 there.
  for (auto [i, stride] : llvm::enumerate(op.getStrides()))
    if (stride != 1 &&
        (int64_t(i) != *dim || op.getType().getDimSize(*dim) == 1))
      return std::nullopt;
  SplicePieces pieces{*dim, {}};
  pieces.add({op.getInput(), op.getStarts()[*dim],
              op.getType().getDimSize(*dim), op.getStrides()[*dim]});
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
  // With a single input there is nothing to splice.
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
  for (auto [i, input] : llvm::enumerate(op.getInputs()))
    pieces.add({input, op.getStarts()[i], op.getSizes()[i], op.getStride(i)});
  return pieces;
}

std::optional<SplicePieces> tp::getSplicePieces(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<SplicePieces>>(op)
      .Case<SliceOp, PadOp, ConcatOp, SpliceOp>(
          [](auto move) { return getPieces(move); })
      .Default(std::optional<SplicePieces>());
}
