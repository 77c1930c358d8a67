// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The batch dimensions of a matmul, merged as far as possible.

#ifndef TPRT_CORE_BATCHES_H
#define TPRT_CORE_BATCHES_H

#include "runtime/Core/ArtifactFormat.h"

#include "absl/types/span.h"

#include <vector>

namespace tprt {

struct Batch {
  int64_t size;
  std::vector<int64_t> strides; ///< For each operand, in elements.
};

/// Returns the batch dimensions of size above 1, major first. Neighbouring
/// dimensions are merged if every operand can go through both with a single
/// stride.
std::vector<Batch> getBatches(const MatmulRow &row,
                              absl::Span<const MatmulOperand *const> operands);

} // namespace tprt

#endif // TPRT_CORE_BATCHES_H
