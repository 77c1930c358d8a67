// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Copies between strided views, converting element types on the way.
/// Used for the copy step, the slices of weights, and the blocks of inputs and
/// outputs.

#ifndef TPRT_CORE_STRIDEDCOPY_H
#define TPRT_CORE_STRIDEDCOPY_H

#include "runtime/Core/DType.h"

#include "absl/types/span.h"

namespace tprt {

/// Returns true if copyStrided can convert elements of one type to the other.
/// It can if the types are equal, or if each is f64, f32, bf16 or f16.
bool canConvert(DType from, DType to);

/// Sets to[sum i*toStrides] = from[sum i*fromStrides] for all indices below
/// `sizes`. Strides are in elements, and the views must be disjoint. Requires
/// canConvert(fromType, toType).
void copyStrided(DType toType, char *to, absl::Span<const int64_t> toStrides,
                 DType fromType, const char *from,
                 absl::Span<const int64_t> fromStrides,
                 absl::Span<const int64_t> sizes);

/// Sets all elements of the view to the low bytes of `pattern`.
void fillStrided(DType type, char *to, absl::Span<const int64_t> strides,
                 absl::Span<const int64_t> sizes, uint64_t pattern);

} // namespace tprt

#endif // TPRT_CORE_STRIDEDCOPY_H
