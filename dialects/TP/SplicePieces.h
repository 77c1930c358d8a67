// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Slices, pads, concatenations and splices along one dimension,
/// described as a list of pieces: rows of a tensor, or a repeated scalar.
///
///     %p = tp.pad %x, %zero low = [1] : 64 -> 65    1 x %zero, %x[0, 64)
///     %y = tp.slice %p [0, 64)                      1 x %zero, %x[0, 63)
///
/// The pieces of several such ops can be composed. Here the pieces of %y follow
/// from the first 64 rows of the pieces of %p, so the 65 rows of %p are not
/// needed.

#ifndef TPOPT_DIALECTS_TP_SPLICEPIECES_H
#define TPOPT_DIALECTS_TP_SPLICEPIECES_H

#include "tpopt/Dialect/TP/TP.h"

#include <optional>

namespace tp {

/// `size` elements of `input` from `start` on, `stride` apart; a negative
/// stride reads backwards. A scalar input is repeated, and its start is 0.
struct SplicePiece {
  mlir::Value input;
  int64_t start, size;
  int64_t stride = 1; ///< 1 for one element, and for a scalar.

  bool isFill() const;
  /// Returns true if the piece is all of its input along `dim`.
  bool isWhole(int64_t dim) const;
};

/// A piece of a tensor, and the scalar that precedes and follows it. `fill` is
/// null if there is no scalar.
struct SurroundedPiece {
  SplicePiece piece;
  mlir::Value fill;
  int64_t low = 0; ///< The number of elements of `fill` in front of the part.
};

/// Returns true if both are the same value, or equal constants.
bool isSameScalar(mlir::Value a, mlir::Value b);

/// Pieces in order along `dim`. Adjacent pieces that could be merged have been.
struct SplicePieces {
  int64_t dim = 0;
  llvm::SmallVector<SplicePiece, 3> pieces;

  /// Adds a piece, unless it is empty, and merges it with the last one if
  /// possible.
  void add(SplicePiece piece);
  /// Returns true if there is one piece and it is all of its input.
  bool isIdentity() const {
    return pieces.size() == 1 && pieces.front().isWhole(dim);
  }
  /// Returns the only piece of a tensor, and the scalar that all other pieces
  /// repeat. Returns nullopt if several pieces are of tensors, or if the other
  /// pieces repeat different scalars.
  std::optional<SurroundedPiece> getSurrounded() const;
  /// Returns the pieces of a part of the result: `size` elements from `start`
  /// on, `stride` apart.
  SplicePieces take(int64_t start, int64_t size, int64_t stride = 1) const;
  /// Creates the splice of type `type`.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Type type) const;
};

/// Returns the pieces of the result of `op`. `op` may be a splice, a
/// concatenation of several inputs, or a slice or pad that changes exactly one
/// dimension. Returns nullopt for all other ops, and for tensors without
/// elements.
std::optional<SplicePieces> getSplicePieces(mlir::Operation *op);

} // namespace tp

#endif // TPOPT_DIALECTS_TP_SPLICEPIECES_H
