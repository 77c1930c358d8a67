// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Cheap sources: splat constants and iotas, which every device can make
/// in any layout without communication.
///
/// Front ends share them: one zero may start all the accumulators of a training
/// step. Such sharing has no meaning, but for propagation and the planner a
/// shared value ties its users together. So each user gets its own source
/// before they run, and equal sources are merged afterwards:
///
///     splitSources(function.getFunctionBody());  // 1 constant, 3 uses
///     ...                                        // 3 constants, 1 use each
///     mergeSources(function.getFunctionBody());  // 1 per sharding
///
/// Shardy does the first half (its constant and scalar splitter).

#ifndef TPOPT_DIALECTS_TP_CHEAPSOURCES_H
#define TPOPT_DIALECTS_TP_CHEAPSOURCES_H

#include "mlir/IR/Region.h"

namespace tp {

/// Returns true if `op` is a cheap source.
bool isCheapSource(mlir::Operation *op);

/// Gives every user of a cheap source in `region`, including nested regions,
/// its own copy after the original. Loops, branches and returns get a copy for
/// each use, as each use is a different value there. Other ops that take a
/// value twice still do so afterwards, as their meaning may depend on it; for
/// the same reason equal sources are merged first. A source with a sharding
/// stays shared, as the annotation is about that one value.
void splitSources(mlir::Region &region);

/// Merges cheap sources of a block with equal attributes, including their
/// shardings, into the first one. Returns the number of removed sources.
unsigned mergeSources(mlir::Region &region);

} // namespace tp

#endif // TPOPT_DIALECTS_TP_CHEAPSOURCES_H
