// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Where the parts of an update lie in the tensor that it is written to.
///
/// Rotary keys are the concatenation of two halves, which a row program
/// computes. Written to a KV cache [1, 64, 3, 16] at position p,
///
///     %k = tp.concat %a, %b dim = 3        [1, 1, 3, 8], twice
///     %new = tp.dynamic_update_slice %cache, %k [%zero, %p, %zero, %zero]
///
/// element [i, j, h, d] of %b lies at [i, p + j, h, d] of the cache's features
/// 8..15, a view [1, 64, 3, 8]. So the program can write it there, and nobody
/// needs %k in memory. Transposes and reshapes in between change the view.

#ifndef TPOPT_PASSES_LOWER_UPDATES_H
#define TPOPT_PASSES_LOWER_UPDATES_H

#include "View.h"

#include "tpopt/Dialect/TP/TP.h"

namespace tp {

struct UpdatePart {
  mlir::Value value;
  /// In the dense tensor that is updated; no root. The dimensions of the value
  /// come first, as long as the whole room along each; then such as the value
  /// lacks.
  View place;
  /// Where the value begins along each dimension of `place`; null where that is
  /// no longer.
  llvm::SmallVector<mlir::Value> starts;
};

/// The update itself, as one part.
UpdatePart getWholeUpdate(DynamicUpdateSliceOp op);

/// The values that the update is put together of, without overlap.
llvm::SmallVector<UpdatePart> getUpdateParts(DynamicUpdateSliceOp op);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_UPDATES_H
