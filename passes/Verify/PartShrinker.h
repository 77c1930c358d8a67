// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Shrinking slices whose start is computed at run time.
///
/// The local form of a dynamic slice or update counts rows of the tensor, of a
/// block, and of the part. All three shrink, and their order is kept:
///
///     whole    131072 on 64 devices, blocks of 2048     part of 4096
///     small         6 on  3 devices, blocks of    2     part of    3
///
///     multiplied by a device's position  2048 -> 2    a block
///     min(it, a position)              126976 -> 3    start of the last part
///                                           0 -> 0    start of the last window
///     compared with a position           4096 -> 3    the part
///
/// Any other number is kept, so that an incorrect local form stays incorrect.

#ifndef TPOPT_PASSES_VERIFY_PARTSHRINKER_H
#define TPOPT_PASSES_VERIFY_PARTSHRINKER_H

#include "passes/Verify/CountShrinker.h"

#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Sharding/Sharding.h"

namespace tp {

class PartShrinker final : public CountShrinker {
public:
  /// For a dynamic slice or update whose first operand has the layout `layout`.
  /// Returns nullopt if the op is of another kind, if the part is the whole
  /// dimension, if some devices have no elements, or if one index would be
  /// mapped to several.
  static std::optional<PartShrinker>
  create(mlir::Operation *op, const TensorSharding &layout, const Mesh &mesh);

  std::optional<int64_t> getSize(unsigned tensor, unsigned dim) const override;
  unsigned getReference() const override { return 0; }
  std::optional<int64_t> mapRows(int64_t rows, unsigned dim) const override;
  std::optional<int64_t> mapIndices(int64_t count) const override;
  /// Maps the number in a constant according to how the constant's users use
  /// it.
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
