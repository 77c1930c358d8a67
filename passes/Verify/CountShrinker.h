// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Local forms that contain counts: of rows in a block, of positions in a
/// tensor, or of distances on a ring of devices.
///
/// Arbitrary small extents would change all these numbers. So each op whose
/// local form contains counts has a dedicated shrinker. It chooses the small
/// extents of the dimensions along which the form counts, and maps each number
/// to its small value. A number that a correct form does not contain is mapped
/// to another incorrect number, so that a wrong form stays wrong.

#ifndef TPOPT_PASSES_VERIFY_COUNTSHRINKER_H
#define TPOPT_PASSES_VERIFY_COUNTSHRINKER_H

#include "tpopt/Sharding/Sharding.h"

#include "mlir/IR/Operation.h"

#include <map>
#include <optional>

namespace tp {

class CountShrinker {
public:
  virtual ~CountShrinker() = default;

  /// The small sizes of the axes that split the dimensions, by axis of the
  /// mesh.
  const std::map<unsigned, int64_t> &getAxes() const { return axes; }
  /// Returns the small size of dimension `dim` of tensor number `tensor` of the
  /// op (operands first). None if the local form contains no counts along that
  /// dimension.
  virtual std::optional<int64_t> getSize(unsigned tensor,
                                         unsigned dim) const = 0;

  /// Returns the number of the op's tensor that has the same dimensions as the
  /// helper values. A helper value is an intermediate result on a device.
  virtual unsigned getReference() const = 0;
  /// Returns the number of rows, after shrinking, of a helper value that has
  /// `rows` rows along `dim`; none if no helper value has that many rows.
  virtual std::optional<int64_t> mapRows(int64_t rows, unsigned dim) const = 0;
  /// Returns the length, after shrinking, of a list of `count` row indices;
  /// none if no list has that length.
  virtual std::optional<int64_t> mapIndices(int64_t count) const = 0;
  /// Replaces the numbers in `copy`, which is a copy of a local op, by those of
  /// the small form. Called after all local ops have been copied, so that all
  /// users of `copy` exist.
  virtual void mapNumbers(mlir::Operation *copy) const = 0;
  /// Replaces the numbers in `copy`, which is a copy of the global op, by those
  /// of the small form.
  virtual void mapWhole(mlir::Operation *copy) const {}

protected:
  /// Returns the product of the shrunk sizes of all axes in `cutting` except
  /// the largest axis. The shrunk size of each of these axes is min(size,
  /// `least`). The shrunk device count is a multiple of this product.
  static int64_t getGrain(const AxisList &cutting, int64_t least);
  /// Sets the sizes of these axes so that their product is `devices`: the
  /// largest axis takes the factor that the others leave.
  void resize(const AxisList &cutting, int64_t least, int64_t devices);

  std::map<unsigned, int64_t> axes;
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_COUNTSHRINKER_H
