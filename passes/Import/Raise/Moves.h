// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Composes nested slices, pads and concatenations.

#ifndef TPOPT_PASSES_IMPORT_RAISE_MOVES_H
#define TPOPT_PASSES_IMPORT_RAISE_MOVES_H

#include "mlir/IR/Region.h"

namespace tp::raise {

/// Composes moves along one dimension, and writes shifts of a value as splices,
/// in `region` and the regions nested in it. Returns true if something changed.
bool composeMoves(mlir::Region &region);

} // namespace tp::raise

#endif // TPOPT_PASSES_IMPORT_RAISE_MOVES_H
