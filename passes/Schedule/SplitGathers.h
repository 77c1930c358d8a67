// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Splits long gathers into pieces.
///
/// A link carries one transfer at a time, so a transfer that is needed soon
/// waits for the end of a long one that is needed later. In pieces, a long
/// gather can use the times at which the link would be idle:
///
///     gather w to a                  gather w[0:4] to p
///                                    gather w[4:8] to q
///     ..                             ..
///                                    copy p to a[:, 0:4]
///                                    copy q to a[:, 4:8]
///     use a                          use a
///
/// The same number of bytes is sent. Reductions are not split, because some
/// libraries add in another order then.

#ifndef TPOPT_PASSES_SCHEDULE_SPLITGATHERS_H
#define TPOPT_PASSES_SCHEDULE_SPLITGATHERS_H

#include "lib/Cost/Machine.h"
#include "tpopt/Dialect/Step/Step.h"

namespace tp::schedule {

/// Returns the seconds of the longest gather in `block` that can be split; 0 if
/// there is none.
double getLongestGather(mlir::Block &block, const Mesh &mesh);

/// Splits the gathers in `block` that take longer than `seconds` into pieces
/// that take at most about as long. Returns the bytes of the pieces' buffers.
int64_t splitGathers(mlir::Block &block, const Mesh &mesh, double seconds);

} // namespace tp::schedule

#endif // TPOPT_PASSES_SCHEDULE_SPLITGATHERS_H
