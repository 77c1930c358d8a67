// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Cheap sources: splat constants and iotas, which every device can make
/// in any layout without communication.
///
/// Front ends share them: one zero may initialize all accumulators of a
/// training step. Such sharing is accidental, but propagation and the planner
/// would then give all users of the value one sharding. So each user gets its
/// own source before these passes run, and equal sources are merged afterwards:
///
///     splitSources(function.getFunctionBody());  // 1 constant, 3 uses
///     ...                                        // 3 constants, 1 use each
///     mergeSources(function.getFunctionBody());  // 1 per sharding
///
/// Shardy also splits sources (its constant and scalar splitter), but does not
/// merge them.

#ifndef TPOPT_DIALECTS_TP_CHEAPSOURCES_H
#define TPOPT_DIALECTS_TP_CHEAPSOURCES_H

#include "mlir/IR/Region.h"

namespace tp {

/// Returns true if `op` is a cheap source.
bool isCheapSource(mlir::Operation *op);

/// Gives every user of a cheap source in `region`, including nested regions,
/// its own copy of the source. If a loop, branch or return uses a source twice,
/// each of the two uses gets a copy, because each use becomes a separate value.
/// If any other op uses a source twice, both uses get the same copy, because
/// the meaning of the op may depend on the operands being the same value. For
/// this reason, equal sources are merged first. A source with a sharding is not
/// copied, because the annotation applies to that one value.
void splitSources(mlir::Region &region);

/// Replaces each cheap source by the first equal one in the same block. Sources
/// are equal if they have the same attributes, including shardings. Returns the
/// number of removed sources.
unsigned mergeSources(mlir::Region &region);

} // namespace tp

#endif // TPOPT_DIALECTS_TP_CHEAPSOURCES_H
