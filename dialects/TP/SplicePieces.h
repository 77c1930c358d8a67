// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What slices, pads, concatenations and splices move along one
/// dimension, as pieces.
///
///     %p = tp.pad %x, %zero low = [1] : 64 -> 65    zero x 1, x [0, 64)
///     %y = tp.slice %p [0, 64)                      zero x 1, x [0, 63)
///
/// Moves compose: of the pieces of %p, %y takes the first 64 rows, and no value
/// of 65 rows is needed.

#ifndef TPOPT_DIALECTS_TP_SPLICEPIECES_H
#define TPOPT_DIALECTS_TP_SPLICEPIECES_H

#include "tpopt/Dialect/TP/TP.h"

#include <optional>

namespace tp {

/// `size` elements of `input` from `start` on, `stride` apart: backwards if
/// that is negative. A scalar is repeated, and its start is 0.
struct SplicePiece {
  mlir::Value input;
  int64_t start, size;
  int64_t stride = 1; ///< 1 for one element, and for a scalar.

  bool isFill() const;
  /// Whether it is all of its input along `dim`.
  bool isWhole(int64_t dim) const;
};

/// Part of a value, and around it a scalar: null if there is nothing around it.
struct SurroundedPiece {
  SplicePiece piece;
  mlir::Value fill;
  int64_t low = 0; ///< How many elements of `fill` come before the part.
};

/// Whether both are one value, or one constant.
bool isSameScalar(mlir::Value a, mlir::Value b);

/// Pieces in order along `dim`. Neighbours are not parts of one piece.
struct SplicePieces {
  int64_t dim = 0;
  llvm::SmallVector<SplicePiece, 3> pieces;

  /// Adds a piece, unless it is empty.
  void add(SplicePiece piece);
  /// Whether they are one input and nothing else.
  bool isIdentity() const {
    return pieces.size() == 1 && pieces.front().isWhole(dim);
  }
  /// The one part of a value and the scalar around it; none if there are
  /// several of either.
  std::optional<SurroundedPiece> getSurrounded() const;
  /// Elements [start, start + size) of the result, or those `stride` apart.
  SplicePieces take(int64_t start, int64_t size, int64_t stride = 1) const;
  /// Creates the splice of type `type`.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Type type) const;
};

/// `op` as pieces: a splice, a concatenation of several inputs, a slice or a
/// pad that changes one dimension. None for other ops, and for tensors without
/// elements.
std::optional<SplicePieces> getSplicePieces(mlir::Operation *op);

} // namespace tp

#endif // TPOPT_DIALECTS_TP_SPLICEPIECES_H
