// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Local forms that count: rows of a block, positions in a tensor, or
/// distances on a ring of devices.
///
/// Arbitrary small extents would change all these numbers. So ops whose local
/// form counts have a shrinker of their own. It chooses the small extents of
/// the dimensions that are counted along, and knows what each number becomes. A
/// number that a correct form does not contain stays incorrect, so that a wrong
/// form stays wrong.

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
  /// The small size of a dimension of one of the op's tensors, operands first;
  /// none if nothing is counted along that dimension.
  virtual std::optional<int64_t> getSize(unsigned tensor,
                                         unsigned dim) const = 0;

  /// The tensor whose dimensions are those of the helper values that exist per
  /// device.
  virtual unsigned getReference() const = 0;
  /// Maps a helper's number of rows along `dim` to the small one; none if no
  /// helper has that many rows.
  virtual std::optional<int64_t> mapRows(int64_t rows, unsigned dim) const = 0;
  /// Maps a number of row indices to the small one.
  virtual std::optional<int64_t> mapIndices(int64_t count) const = 0;
  /// Puts the small numbers into a copy of one of the ops. By then all copies
  /// have their users.
  virtual void mapNumbers(mlir::Operation *copy) const = 0;
  /// Does the same in a copy of the op on whole tensors.
  virtual void mapWhole(mlir::Operation *copy) const {}

protected:
  /// The number that the device count along `cutting` is a multiple of, if all
  /// axes except the largest have a size of at most `least`.
  static int64_t getGrain(const AxisList &cutting, int64_t least);
  /// Sets the sizes of these axes so that they have `devices` devices: the
  /// largest axis takes the factor that the others leave.
  void resize(const AxisList &cutting, int64_t least, int64_t devices);

  std::map<unsigned, int64_t> axes;
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_COUNTSHRINKER_H
