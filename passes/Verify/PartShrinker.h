// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A part that starts at a computed place, of a smaller tensor.
///
/// The local form of a dynamic slice or update counts in rows of the tensor, of
/// a block, and of the part. All three shrink, and their order is kept:
///
///     whole    131072 on 64 devices, blocks of 2048     part of 4096
///     small         6 on  3 devices, blocks of    2     part of    3
///
///     multiplied by a device's place     2048 -> 2      a block
///     least of it and a place          126976 -> 3      where the last part is
///                                           0 -> 0      the last window
///     compared with a place              4096 -> 3      the part
///
/// Any other number is kept, so that an incorrect local form stays incorrect.

#ifndef TPOPT_PASSES_VERIFY_PARTSHRINKER_H
#define TPOPT_PASSES_VERIFY_PARTSHRINKER_H

#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Sharding/Sharding.h"

#include <map>

namespace tp {

class PartShrinker {
public:
  /// For a dynamic slice or update whose first operand lies as `layout`. None
  /// for other ops, if the part is all there is, if devices have nothing, or if
  /// a number would become several.
  static std::optional<PartShrinker>
  create(mlir::Operation *op, const TensorSharding &layout, const Mesh &mesh);

  /// Whether the part is shorter in `dim`.
  bool shrinks(unsigned dim) const { return dims.count(dim); }
  /// The small size of such a dimension of the tensor, or of the part.
  int64_t getSize(unsigned dim, bool isPart) const {
    const Dim &found = dims.find(dim)->second;
    return isPart ? found.small.part : found.small.whole;
  }
  /// The small sizes of the axes that cut these dimensions.
  const std::map<unsigned, int64_t> &getAxes() const { return axes; }

  /// So many rows of a device's values along dimension `dim`.
  std::optional<int64_t> mapRows(int64_t rows, unsigned dim) const;
  /// So many indices along one of the dimensions.
  std::optional<int64_t> mapIndices(int64_t count) const;
  /// A number by what the users of `constant` make of it.
  int64_t mapNumber(int64_t number, mlir::Operation *constant) const;

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

  std::map<unsigned, Dim> dims;
  std::map<unsigned, int64_t> axes;
  Map blocks, lasts, parts, indices;
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_PARTSHRINKER_H
