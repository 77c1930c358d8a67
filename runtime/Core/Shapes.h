// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Arithmetic on shapes: sizes that may overflow, reshapes as a list of
/// common factors, and intervals of merged dimensions as boxes.

#ifndef TPRT_CORE_SHAPES_H
#define TPRT_CORE_SHAPES_H

#include "absl/types/optional.h"
#include "absl/types/span.h"

#include <cstdint>
#include <vector>

namespace tprt {

/// a * b and a + b of numbers >= 0; none if that is more than int64_t holds.
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

/// The number of elements; none if a size is negative or the product overflows.
absl::optional<int64_t> getNumElements(absl::Span<const int64_t> shape);

/// Row-major strides in elements.
std::vector<int64_t> getStrides(absl::Span<const int64_t> shape);

/// One more than the largest offset that indices below `sizes` reach with these
/// strides; 0 for no element, none on overflow or a negative number.
absl::optional<int64_t> getExtent(absl::Span<const int64_t> sizes,
                                  absl::Span<const int64_t> strides);

/// Whether every element of a view has its own place in memory. Each stride
/// must be greater than what all smaller ones reach together, as it is in every
/// transposed, sliced or reshaped tensor, but not in a broadcast one.
bool isWithoutOverlap(absl::Span<const int64_t> sizes,
                      absl::Span<const int64_t> strides);

/// A reshape that merges and splits dimensions, as the list of factors, major
/// first, that both shapes are products of: [6, 4] -> [2, 12] has the factors
/// 2, 3, 4, of which 2 and 3 make dim 0 before, 3 and 4 make dim 1 after.
struct ReshapeFactor {
  int64_t size;
  unsigned from; ///< The dimension it is part of before,
  unsigned to;   ///< and after.
};

/// None if the shapes differ in size or, like [4, 6] and [6, 4], have
/// boundaries that do not nest.
absl::optional<std::vector<ReshapeFactor>>
factorReshape(absl::Span<const int64_t> from, absl::Span<const int64_t> to);

/// A box of indices: start[i] .. start[i]+size[i]-1 along dimension i.
struct Box {
  std::vector<int64_t> start;
  std::vector<int64_t> size;
};

/// The elements [begin, end) of the merged dimensions `sizes` as boxes, in
/// order: at most two per dimension and one more. [1, 9) of 3 x 4 is row 0 from
/// 1 on, row 1, and the first of row 2.
std::vector<Box> splitInterval(int64_t begin, int64_t end,
                               absl::Span<const int64_t> sizes);

} // namespace tprt

#endif // TPRT_CORE_SHAPES_H
