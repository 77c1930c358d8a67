// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Cheap sources: splat constants and iotas, which every device can make
/// in any layout without communication.
///
/// Front ends share them: one zero may start all the accumulators of a
/// training step. Sharing means nothing there, but to propagation and to the
/// planner a shared value is a bond between its users. So each user gets a
/// source of its own before they run, and what is equal in the end is merged:
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

/// Whether `op` is a cheap source.
bool isCheapSource(mlir::Operation *op);

/// Gives every user of a cheap source in `region`, and in the regions in it, a
/// copy of its own, after the original; loops, branches and returns get one for
/// each use, as each is another value there. An op that takes one value twice
/// keeps that: what it means may depend on it, and so equal sources are merged
/// first. A source with a sharding stays
/// shared: somebody asked for that one value.
void splitSources(mlir::Region &region);

/// Merges the cheap sources of a block that have equal attributes, the sharding
/// among them, into the first. Returns how many are gone.
unsigned mergeSources(mlir::Region &region);

} // namespace tp

#endif // TPOPT_DIALECTS_TP_CHEAPSOURCES_H
