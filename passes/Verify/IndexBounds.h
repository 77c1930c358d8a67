// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The bounds of a computed integer, as far as its ops determine them.

#ifndef TPOPT_PASSES_VERIFY_INDEXBOUNDS_H
#define TPOPT_PASSES_VERIFY_INDEXBOUNDS_H

#include "mlir/IR/Value.h"

#include <cstdint>

namespace tp {

struct IndexBounds {
  int64_t least = INT64_MIN, greatest = INT64_MAX;
};

/// The bounds of an index. A clamped index is bounded; an argument is not.
IndexBounds getIndexBounds(mlir::Value value);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_INDEXBOUNDS_H
