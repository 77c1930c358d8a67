// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Local forms that count: in rows of a block, in places of a tensor, in
/// distances on a ring of devices.
///
/// Small extents that come about by chance would change all these numbers. So
/// ops whose local form counts have a shrinker of their own, which chooses the
/// small extents of the dimensions that are counted along and knows what each
/// number becomes. Numbers that a right form does not have stay such, so that a
/// wrong form stays wrong.

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

  /// The small sizes of the axes that cut the dimensions, by axis of the mesh.
  const std::map<unsigned, int64_t> &getAxes() const { return axes; }
  /// The small size of a dimension of a tensor of the op, operands first; none
  /// if it is not one that is counted along.
  virtual std::optional<int64_t> getSize(unsigned tensor,
                                         unsigned dim) const = 0;

  /// The tensor whose dimensions helpers have that are a device's own.
  virtual unsigned getReference() const = 0;
  /// So many rows of a helper along dimension `dim`; none if no helper has
  /// them.
  virtual std::optional<int64_t> mapRows(int64_t rows, unsigned dim) const = 0;
  /// So many indices of rows.
  virtual std::optional<int64_t> mapIndices(int64_t count) const = 0;
  /// Gives a copy of one of the ops the small numbers. All copies have their
  /// users.
  virtual void mapNumbers(mlir::Operation *copy) const = 0;
  /// The same for a copy of the op on whole tensors.
  virtual void mapWhole(mlir::Operation *copy) const {}

protected:
  /// What the number of devices along `cutting` is a multiple of, if all axes
  /// but the largest have at most `least`.
  static int64_t getGrain(const AxisList &cutting, int64_t least);
  /// Sets the sizes of these axes for so many devices: the largest takes what
  /// the others leave.
  void resize(const AxisList &cutting, int64_t least, int64_t devices);

  std::map<unsigned, int64_t> axes;
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_COUNTSHRINKER_H
