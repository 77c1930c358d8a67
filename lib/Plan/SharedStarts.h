// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Predicts which reshards will share a launch, so that each pays only a part of
// its start.

#ifndef TPOPT_PLAN_SHAREDSTARTS_H
#define TPOPT_PLAN_SHAREDSTARTS_H

#include "PlanGraph.h"

namespace tp::plan {

/// Sets the share of a start that the reshards of each value pay. Collectives
/// whose results are not needed at once are combined later
/// (tp-combine-collectives), up to `bucketBytes` per launch. They are of two
/// kinds:
///
/// * Gathers of arguments that products need, and of values computed from
///   arguments by simple ops: weights of FSDP.
/// * Sums that lead only to results, by ops that can be postponed as well:
///   gradients, and the loss.
///
/// With n values of a kind and one element type in a block, each pays 1/n of a
/// start, or its part of the bucket if that is more. With 25 MiB:
///
///     100 gradients of 1 MiB    0.04 of a start each, 4 launches
///       1 gradient of 1 MiB     a whole start
///
/// All others pay a whole start each: collectives that a product waits for,
/// those in loops, and gathers of updated weights. The last are not discounted,
/// as sharding an update for their sake saves less than its ops cost one by
/// one.
void findSharedStarts(PlanGraph &graph, const ProgramView &view,
                      const LayoutPool &pool, int64_t bucketBytes);

} // namespace tp::plan

#endif // TPOPT_PLAN_SHAREDSTARTS_H
