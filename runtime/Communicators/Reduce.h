// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Sums, maxima and minima over ranks, with the same result for all
/// transports.

#ifndef TPRT_COMMUNICATORS_REDUCE_H
#define TPRT_COMMUNICATORS_REDUCE_H

#include "runtime/Core/ArtifactFormat.h"

#include "absl/types/span.h"

namespace tprt {

/// to[i] = sources[0][i] op sources[1][i] op .., from left to right, for i
/// below `count`. 16-bit floats are accumulated in f32 and rounded once;
/// integer sums wrap; a NaN makes the result NaN. `to` may be one of the
/// sources.
void reduceInOrder(DType dtype, Reduction reduction,
                   absl::Span<const char *const> sources, int64_t count,
                   char *to);

} // namespace tprt

#endif // TPRT_COMMUNICATORS_REDUCE_H
