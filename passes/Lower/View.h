// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Tensors in memory, and the movements of data that cost nothing.
///
/// A view is a buffer with sizes and strides: element [i, j] is at offset +
/// i * strides[0] + j * strides[1] of the root. Transposing permutes both
/// lists, broadcasting adds strides of 0, slicing moves the offset; only a
/// reshape may need a copy, where dimensions that merge do not follow each
/// other in memory: a transposed 4x8 cannot be read as 32.
///
/// In a loop a view may move by a number of elements with every turn: the slice
/// of stacked weights that is the turn's layer. Or it lies at the device's
/// place: the block of a gathered tensor that is its own.

#ifndef TPOPT_PASSES_LOWER_VIEW_H
#define TPOPT_PASSES_LOWER_VIEW_H

#include "tpopt/Dialect/Step/Step.h"

namespace tp {

struct View {
  mlir::Value root; ///< A dense buffer: an argument, an alloc or a constant.
  mlir::Type element;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;
  mlir::Operation *loop = nullptr; ///< The step.loop that it moves with.
  /// Else the axes that it lies along, `plus` places further on.
  spmd::AxisListAttr axes;
  int64_t plus = 0;
  int64_t by = 0; ///< Elements in each turn, or from place to place.

  View() = default;
  /// All of a dense buffer.
  explicit View(mlir::Value root);
  /// A dense tensor that has no memory yet.
  View(llvm::ArrayRef<int64_t> shape, mlir::Type element);

  int64_t getNumElements() const;
  /// Whether it has elements at several places, as overlapping windows do.
  bool hasRepeats() const;
  /// Row-major and without gaps, wherever it begins.
  bool isDense() const;
  /// Exactly its root.
  bool isRoot() const;

  View transpose(llvm::ArrayRef<int64_t> permutation) const;
  /// Dimension i becomes `dims[i]` of `shape`; the others repeat.
  View broadcast(llvm::ArrayRef<int64_t> shape,
                 llvm::ArrayRef<int64_t> dims) const;
  View slice(llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> sizes,
             llvm::ArrayRef<int64_t> steps) const;
  /// Each of `dims` becomes two, of windows from element `starts` on and of
  /// their elements; see tp.window.
  View window(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> starts,
              llvm::ArrayRef<int64_t> steps, llvm::ArrayRef<int64_t> dilations,
              llvm::ArrayRef<int64_t> shape) const;
  /// The first `sizes` elements of every dimension.
  View takeFront(llvm::ArrayRef<int64_t> sizes) const;
  /// The same elements in row-major order, if strides can say so.
  std::optional<View> reshape(llvm::ArrayRef<int64_t> shape) const;

  mlir::MemRefType getType() const;
  /// Whether both are the same elements of the same memory.
  bool isSame(const View &other) const;
};

} // namespace tp

#endif // TPOPT_PASSES_LOWER_VIEW_H
