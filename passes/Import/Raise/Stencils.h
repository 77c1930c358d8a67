// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Shares windows between shifts and windows of one value.

#ifndef TPOPT_PASSES_IMPORT_RAISE_STENCILS_H
#define TPOPT_PASSES_IMPORT_RAISE_STENCILS_H

#include "mlir/IR/Region.h"

namespace tp::raise {

/// Rewrites shifts and windows of one value as elements of common windows, in
/// `region` and the regions nested in it. Returns true if something changed.
bool shareWindows(mlir::Region &region);

} // namespace tp::raise

#endif // TPOPT_PASSES_IMPORT_RAISE_STENCILS_H
