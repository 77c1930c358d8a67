// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Shifts and windows of one value.

#ifndef TPOPT_PASSES_IMPORT_RAISE_STENCILS_H
#define TPOPT_PASSES_IMPORT_RAISE_STENCILS_H

#include "mlir/IR/Region.h"

namespace tp::raise {

/// Makes shifts and windows of one value, in `region` and the regions in it,
/// elements of the same windows. Returns whether something changed.
bool shareWindows(mlir::Region &region);

} // namespace tp::raise

#endif // TPOPT_PASSES_IMPORT_RAISE_STENCILS_H
