// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Finds where each part of an update is placed in the tensor that is
/// updated.
///
/// A row program computes the two halves of rotary keys, %a and %b, each of
/// which is [1, 1, 3, 8]. The halves are concatenated and written to a KV cache
/// [1, 64, 3, 16] at position %p:
///
///     %k = tp.concat %a, %b dim = 3
///     %new = tp.dynamic_update_slice %cache, %k [%zero, %p, %zero, %zero]
///
/// Element [i, j, h, d] of %b is written to [i, %p + j, h, d] of the cache's
/// features 8..15, which are a view [1, 64, 3, 8]. So the row program can write
/// it there directly, and %k need not be in memory. Transposes and reshapes
/// between the concatenation and the update change the view.

#ifndef TPOPT_PASSES_LOWER_UPDATES_H
#define TPOPT_PASSES_LOWER_UPDATES_H

#include "View.h"

#include "tpopt/Dialect/TP/TP.h"

namespace tp {

struct UpdatePart {
  mlir::Value value;
  /// Where `value` may be written in the updated tensor. This is a view of a
  /// dense tensor, and has no root. The first dimensions of the view correspond
  /// to the dimensions of `value`, and are at least as long. They are followed
  /// by the dimensions of the tensor that `value` does not have. If the update
  /// moves by a constant amount per iteration of a loop (Motion), the view
  /// moves too, but its loop is not set.
  View place;
  /// The start index of `value` along each dimension of `place`. May be null
  /// along dimensions in which `place` is not longer than `value`.
  llvm::SmallVector<mlir::Value> starts;
};

/// Returns the whole update as a single part.
UpdatePart getWholeUpdate(DynamicUpdateSliceOp op);

/// Returns the values that the update is concatenated from, as parts that do
/// not overlap. An update that is not a concatenation is a single part.
llvm::SmallVector<UpdatePart> getUpdateParts(DynamicUpdateSliceOp op);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_UPDATES_H
