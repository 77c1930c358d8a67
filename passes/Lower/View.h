// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Tensors in memory, and data movements that need no copy.
///
/// A view is a buffer with sizes and strides: element [i, j] is at offset + i *
/// strides[0] + j * strides[1] of the root. Transposing permutes both lists,
/// broadcasting adds strides of 0, slicing moves the offset. Only a reshape may
/// need a copy, if the dimensions that it merges are not contiguous in memory:
/// a transposed 4x8 cannot be read as 32.
///
/// In a loop, the offset of a view may advance by a fixed number of elements in
/// every iteration: the iteration then uses its own layer of stacked weights.
/// Alternatively, the offset may depend on the device's position along axes:
/// the device then uses its own block of a gathered tensor.

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
  /// The step.loop with which the offset advances; null if it does not.
  mlir::Operation *loop = nullptr;
  /// The axes along which the device's position determines the offset. Null if
  /// the position does not determine the offset, or if `loop` is set. `plus` is
  /// added to the position.
  spmd::AxisListAttr axes;
  int64_t plus = 0;
  int64_t by = 0; ///< Elements per iteration or position.

  View() = default;
  /// All of a dense buffer.
  explicit View(mlir::Value root);
  /// A dense tensor that has no memory yet.
  View(llvm::ArrayRef<int64_t> shape, mlir::Type element);

  int64_t getNumElements() const;
  /// Returns true if an element appears at several indices, as in overlapping
  /// windows.
  bool hasRepeats() const;
  /// Returns true if the view is row-major and without gaps; its offset does
  /// not matter.
  bool isDense() const;
  /// Returns true if the view is all of its root.
  bool isRoot() const;

  View transpose(llvm::ArrayRef<int64_t> permutation) const;
  /// Dimension i becomes dimension `dims[i]` of `shape`. The elements repeat
  /// along all other dimensions of `shape`.
  View broadcast(llvm::ArrayRef<int64_t> shape,
                 llvm::ArrayRef<int64_t> dims) const;
  View slice(llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> sizes,
             llvm::ArrayRef<int64_t> steps) const;
  /// Replaces each dimension in `dims` by two dimensions: the number of the
  /// window, and the position inside the window. Window 0 begins at element
  /// `starts[i]` of dimension `dims[i]`. See tp.window.
  View window(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> starts,
              llvm::ArrayRef<int64_t> steps, llvm::ArrayRef<int64_t> dilations,
              llvm::ArrayRef<int64_t> shape) const;
  /// The first `sizes` elements of every dimension.
  View takeFront(llvm::ArrayRef<int64_t> sizes) const;
  /// The same elements in row-major order, or none if strides cannot describe
  /// them.
  std::optional<View> reshape(llvm::ArrayRef<int64_t> shape) const;

  mlir::MemRefType getType() const;
  /// Returns true if both views are the same elements of the same memory.
  bool isSame(const View &other) const;
};

} // namespace tp

#endif // TPOPT_PASSES_LOWER_VIEW_H
