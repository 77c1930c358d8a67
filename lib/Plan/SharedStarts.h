// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which reshards will share the start of a launch with others.

#ifndef TPOPT_PLAN_SHAREDSTARTS_H
#define TPOPT_PLAN_SHAREDSTARTS_H

#include "PlanGraph.h"

namespace tp::plan {

/// Sets what reshards of each value pay of a start. Collectives that nothing
/// waits for are combined in the end (tp-combine-collectives), up to 25 MiB a
/// launch. These are of two kinds:
///
/// * Gathers of arguments that products need, and of what is made of arguments
///   by moving elements and computing with each: weights of FSDP.
/// * Sums of what only becomes results, by ops that wait as well: gradients.
///
/// With n values of a kind in a block, each pays an n-th of a start, or what it
/// takes of 25 MiB if that is more:
///
///     100 gradients of 1 MiB    0.04 of a start each, 4 launches
///       1 gradient of 1 MiB     a whole start
///
/// All others pay a start each: what a product waits for, what a loop repeats,
/// and gathers of updated weights, as an update that is cut for their sake
/// saves less than its ops cost one by one.
void findSharedStarts(PlanGraph &graph, const ProgramView &view,
                      const LayoutPool &pool);

} // namespace tp::plan

#endif // TPOPT_PLAN_SHAREDSTARTS_H
