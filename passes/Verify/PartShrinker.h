// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Shrinks slices and updates whose start is computed at run time.
///
/// The local form of a dynamic slice or update contains the numbers of rows of
/// the tensor, of a block, and of the part that is sliced or updated. All three
/// numbers shrink, but compare with each other as before:
///
///     whole    131072 on 64 devices, blocks of 2048     part of 4096
///     small         6 on  3 devices, blocks of    2     part of    3
///
/// How a constant in the local form shrinks depends on its use:
///
///     multiplied by a device's position  2048 -> 2    size of a block
///     operand of a minimum             126976 -> 3    start of the last part
///                                           0 -> 0    start of the last window
///     compared with a position           4096 -> 3    size of the part
///
/// A window is as much of a part as fits in a block. Any other number is kept,
/// so that an incorrect local form stays incorrect.

#ifndef TPOPT_PASSES_VERIFY_PARTSHRINKER_H
#define TPOPT_PASSES_VERIFY_PARTSHRINKER_H

#include "passes/Verify/CountShrinker.h"

#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Sharding/Sharding.h"

namespace tp {

class PartShrinker final : public CountShrinker {
public:
  /// Creates a shrinker for a dynamic slice or update whose first operand has
  /// the layout `layout`. Returns nullopt if the op is of another kind, if the
  /// part is the whole tensor, if a sub-axis splits a dimension that shrinks,
  /// if some devices have no elements, or if one number would be mapped to
  /// several.
  static std::optional<PartShrinker>
  create(mlir::Operation *op, const TensorSharding &layout, const Mesh &mesh);

  std::optional<int64_t> getSize(unsigned tensor, unsigned dim) const override;
  unsigned getReference() const override { return 0; }
  std::optional<int64_t> mapRows(int64_t rows, unsigned dim) const override;
  std::optional<int64_t> mapIndices(int64_t count) const override;
  /// Maps the number in a constant. The op that uses the constant determines
  /// whether the number is a block size, a start or a part's size.
  void mapNumbers(mlir::Operation *copy) const override;

private:
  struct Rows {
    int64_t whole, devices, part;
    int64_t block() const;
    int64_t window() const;
  };
  struct Dim {
    Rows large, small;
  };
  using Map = std::map<int64_t, int64_t>;

  static std::optional<Rows> shrink(const Rows &large, int64_t devices);
  bool relate();

  int64_t mapNumber(int64_t number, mlir::Operation *constant) const;

  unsigned part = 0; ///< The number of the tensor that is the part.
  std::map<unsigned, Dim> dims;
  Map blocks, lasts, parts, indices;
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_PARTSHRINKER_H
