// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Distances.h"

using namespace mlir;
using namespace tp;

/// Ops are near if at most this many contractions are between them. The limit
/// is high enough that an attention's query gradient and its key and value
/// gradients can share the attention weights.
static constexpr unsigned kNearby = 4;

Distances::Distances(Block &block) {
  unsigned count = 0;
  for (Operation &op : block) {
    before[&op] = count;
    if (op.getNumRegions() != 0)
      count += kNearby + 1; // a loop may take any amount of time
    else if (isa<EinsumOp, AttentionOpInterface>(op))
      ++count;
  }
}

bool Distances::isNear(Operation *first, Operation *second) const {
  return before.lookup(second) <= before.lookup(first) + kNearby;
}
