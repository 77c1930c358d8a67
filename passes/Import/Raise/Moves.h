// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Slices, pads and concatenations of each other.

#ifndef TPOPT_PASSES_IMPORT_RAISE_MOVES_H
#define TPOPT_PASSES_IMPORT_RAISE_MOVES_H

#include "mlir/IR/Region.h"

namespace tp::raise {

/// Composes moves along one dimension, and writes what shifts a value as a
/// splice, in `region` and the regions in it. Returns whether something
/// changed.
bool composeMoves(mlir::Region &region);

} // namespace tp::raise

#endif // TPOPT_PASSES_IMPORT_RAISE_MOVES_H
