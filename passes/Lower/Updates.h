// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Where the parts of an update are placed in the tensor that is updated.
///
/// Rotary keys are the concatenation of two halves, which a row program
/// computes. They are written to a KV cache [1, 64, 3, 16] at position p:
///
///     %k = tp.concat %a, %b dim = 3        [1, 1, 3, 8], twice
///     %new = tp.dynamic_update_slice %cache, %k [%zero, %p, %zero, %zero]
///
/// Element [i, j, h, d] of %b is written to [i, p + j, h, d] of the cache's
/// features 8..15, which are a view [1, 64, 3, 8]. So the row program can write
/// it there directly, and %k need not be in memory. Transposes and reshapes in
/// between change the view.

#ifndef TPOPT_PASSES_LOWER_UPDATES_H
#define TPOPT_PASSES_LOWER_UPDATES_H

#include "View.h"

#include "tpopt/Dialect/TP/TP.h"

namespace tp {

struct UpdatePart {
  mlir::Value value;
  /// The view, without a root, of the dense tensor that is updated. The
  /// dimensions of the value come first; their sizes include the room in which
  /// the value may be placed. Dimensions that the value lacks follow.
  View place;
  /// The index at which the value begins along each dimension of `place`; null
  /// if `place` has no room along it.
  llvm::SmallVector<mlir::Value> starts;
};

/// The update itself, as one part.
UpdatePart getWholeUpdate(DynamicUpdateSliceOp op);

/// The values that the update is composed of; they do not overlap.
llvm::SmallVector<UpdatePart> getUpdateParts(DynamicUpdateSliceOp op);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_UPDATES_H
