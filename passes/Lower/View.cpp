// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "View.h"

using namespace mlir;
using namespace tp;

View::View(Value root) : root(root) {
  auto type = cast<MemRefType>(root.getType());
  element = type.getElementType();
  shape.assign(type.getShape().begin(), type.getShape().end());
  strides = step::getDenseStrides(shape);
}

View::View(ArrayRef<int64_t> shape, Type element)
    : element(element), shape(shape), strides(step::getDenseStrides(shape)) {}

int64_t View::getNumElements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

bool View::hasRepeats() const {
  int64_t spanned = 1;
  for (auto [size, stride] : llvm::zip_equal(shape, strides))
    spanned += (size - 1) * std::abs(stride);
  return spanned < getNumElements();
}

bool View::isDense() const {
  // The stride of a dimension of size 1 does not matter.
  int64_t wanted = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != wanted)
      return false;
    wanted *= shape[i];
  }
  return true;
}

bool View::isRoot() const {
  return offset == 0 && by == 0 && isDense() &&
         cast<MemRefType>(root.getType()).getShape() ==
             ArrayRef<int64_t>(shape);
}

View View::transpose(ArrayRef<int64_t> permutation) const {
  View result = *this;
  for (auto [i, dim] : llvm::enumerate(permutation)) {
    result.shape[i] = shape[dim];
    result.strides[i] = strides[dim];
  }
  return result;
}

View View::broadcast(ArrayRef<int64_t> newShape, ArrayRef<int64_t> dims) const {
  View result = *this;
  result.shape.assign(newShape.begin(), newShape.end());
  result.strides.assign(newShape.size(), 0);
  for (auto [i, dim] : llvm::enumerate(dims))
    result.strides[dim] = strides[i];
  return result;
}

View View::slice(ArrayRef<int64_t> starts, ArrayRef<int64_t> sizes,
                 ArrayRef<int64_t> steps) const {
  View result = *this;
  for (size_t i = 0; i < shape.size(); ++i) {
    result.offset += starts[i] * strides[i];
    result.shape[i] = sizes[i];
    result.strides[i] = strides[i] * steps[i];
  }
  return result;
}

View View::window(ArrayRef<int64_t> dims, ArrayRef<int64_t> starts,
                  ArrayRef<int64_t> steps, ArrayRef<int64_t> dilations,
                  ArrayRef<int64_t> newShape) const {
  View result = *this;
  result.shape.assign(newShape.begin(), newShape.end());
  for (auto [i, dim] : llvm::enumerate(dims)) {
    int64_t stride = strides[dim];
    result.offset += starts[i] * stride;
    result.strides[dim + i] = steps[i] * stride;
    result.strides.insert(result.strides.begin() + dim + i + 1,
                          dilations[i] * stride);
  }
  return result;
}

View View::takeFront(ArrayRef<int64_t> sizes) const {
  View result = *this;
  result.shape.assign(sizes.begin(), sizes.end());
  return result;
}

std::optional<View> View::reshape(ArrayRef<int64_t> newShape) const {
  // Runs of dimensions that are contiguous in memory, outermost first.
  struct Run {
    int64_t size, stride;
  };
  SmallVector<Run> runs;
  for (auto [size, stride] : llvm::zip(shape, strides)) {
    if (size == 1)
      continue;
    if (!runs.empty() && runs.back().stride == size * stride)
      runs.back() = {runs.back().size * size, stride};
    else
      runs.push_back({size, stride});
  }
  // Divide each run among the new dimensions, from the innermost outwards.
  View result = *this;
  result.shape.assign(newShape.begin(), newShape.end());
  result.strides.assign(newShape.size(), 1);
  Run rest{1, 1};
  for (size_t i = newShape.size(); i-- > 0;) {
    int64_t size = newShape[i];
    if (size == 1)
      continue;
    if (rest.size == 1) {
      if (runs.empty())
        return std::nullopt;
      rest = runs.pop_back_val();
    }
    if (rest.size % size != 0)
      return std::nullopt;
    result.strides[i] = rest.stride;
    rest = {rest.size / size, rest.stride * size};
  }
  return result;
}

MemRefType View::getType() const {
  return step::getBufferType(shape, element, strides, offset);
}

bool View::isSame(const View &other) const {
  return root == other.root && offset == other.offset && shape == other.shape &&
         strides == other.strides && loop == other.loop && axes == other.axes &&
         plus == other.plus && by == other.by;
}
