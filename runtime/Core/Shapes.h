// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Arithmetic on shapes: sizes that may overflow, reshapes as lists of
/// common factors, and intervals of merged dimensions as boxes.

#ifndef TPRT_CORE_SHAPES_H
#define TPRT_CORE_SHAPES_H

#include "absl/types/optional.h"
#include "absl/types/span.h"

#include <cstdint>
#include <vector>

namespace tprt {

/// Returns a * b or a + b for numbers >= 0; none if the result does not fit
/// int64_t.
inline absl::optional<int64_t> checkedMultiply(int64_t a, int64_t b) {
  int64_t result;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &result))
    return absl::nullopt;
  return result;
}
inline absl::optional<int64_t> checkedAdd(int64_t a, int64_t b) {
  int64_t result;
  if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &result))
    return absl::nullopt;
  return result;
}

/// Returns the number of elements; none if a size is negative or the product
/// overflows.
absl::optional<int64_t> getNumElements(absl::Span<const int64_t> shape);

/// Returns row-major strides in elements.
std::vector<int64_t> getStrides(absl::Span<const int64_t> shape);

/// Returns one more than the largest offset that indices below `sizes` reach
/// with these strides; 0 if there are no elements, none on overflow or if a
/// number is negative.
absl::optional<int64_t> getExtent(absl::Span<const int64_t> sizes,
                                  absl::Span<const int64_t> strides);

/// Returns true if every element of a view has its own address. Each stride
/// must be greater than the extent of all smaller strides together. This holds
/// for every transposed, sliced or reshaped tensor, but not for a broadcast
/// one.
bool isWithoutOverlap(absl::Span<const int64_t> sizes,
                      absl::Span<const int64_t> strides);

/// A reshape that merges and splits dimensions, as the list of factors, major
/// first, that make up both shapes: [6, 4] -> [2, 12] has the factors 2, 3, 4,
/// where 2 and 3 make up dimension 0 of the source, and 3 and 4 dimension 1 of
/// the result.
struct ReshapeFactor {
  int64_t size;
  unsigned from; ///< The dimension it is part of before,
  unsigned to;   ///< and after.
};

/// Factors a reshape; none if the shapes differ in size or, like [4, 6] and [6,
/// 4], have boundaries that do not nest.
absl::optional<std::vector<ReshapeFactor>>
factorReshape(absl::Span<const int64_t> from, absl::Span<const int64_t> to);

/// A box of indices: start[i] .. start[i]+size[i]-1 along dimension i.
struct Box {
  std::vector<int64_t> start;
  std::vector<int64_t> size;
};

/// Returns the elements [begin, end) of the merged dimensions `sizes` as boxes,
/// in order: at most 2 per dimension, plus 1. [1, 9) of 3 x 4 is row 0 from
/// column 1 on, row 1, and the first element of row 2.
std::vector<Box> splitInterval(int64_t begin, int64_t end,
                               absl::Span<const int64_t> sizes);

} // namespace tprt

#endif // TPRT_CORE_SHAPES_H
