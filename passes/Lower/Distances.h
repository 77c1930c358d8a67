// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Distances between the ops of a block, counted in contractions: other
/// ops take little time compared with them.
///
/// A value that is kept for an op far away occupies memory until then.
/// Therefore values that a backward pass recomputes are neither shared with the
/// forward pass nor fused into it.

#ifndef TPOPT_PASSES_LOWER_DISTANCES_H
#define TPOPT_PASSES_LOWER_DISTANCES_H

#include "tpopt/Dialect/TP/TP.h"

namespace tp {

class Distances {
public:
  explicit Distances(mlir::Block &block);

  /// Returns true if at most a few contractions are between two ops of the
  /// block, or if `second` comes before `first`.
  bool isNear(mlir::Operation *first, mlir::Operation *second) const;

private:
  /// The number of contractions that precede each op.
  llvm::DenseMap<mlir::Operation *, unsigned> before;
};

} // namespace tp

#endif // TPOPT_PASSES_LOWER_DISTANCES_H
