// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Software pipelining of the collectives in a loop.
///
/// A collective that sends data that the loop never writes, such as a layer's
/// weights, can run one iteration ahead if it has a second buffer to receive
/// into. A loop of seven iterations becomes
///
///     step.loop 7 {                  gather w[0] to a
///       gather w[i] to a             step.loop 3 {
///       compute with a                 compute with a; gather w[2i+1] to b
///     }                                compute with b; gather w[2i+2] to a
///                                    }
///                                    compute with a
///
/// A collective whose result the loop only stores, such as a layer's gradient,
/// can run one iteration behind if there is a second buffer to send from. A
/// loop of eight iterations becomes
///
///     step.loop 8 {                  compute a
///       compute a                    step.loop 3 {
///       scatter a to g[i]              compute b; scatter a to g[2i]
///     }                                compute a; scatter b to g[2i+1]
///                                    }
///                                    compute b; scatter a to g[6]
///                                    scatter b to g[7]
///
/// Both can be done to the same loop. The same data is sent in the same order,
/// and each iteration computes the same values. The scheduler then places
/// starts and waits within each iteration.

#ifndef TPOPT_PASSES_SCHEDULE_SOFTWAREPIPELINE_H
#define TPOPT_PASSES_SCHEDULE_SOFTWAREPIPELINE_H

#include "tpopt/Dialect/Step/Step.h"

namespace tp::schedule {

/// The number of collectives of a loop that run an iteration ahead (those that
/// an iteration needs first), and the number that run an iteration behind
/// (those that it starts last).
struct Shifts {
  unsigned ahead = 0, behind = 0;
};

/// Returns how many collectives of `loop` can run an iteration ahead, and how
/// many can run an iteration behind.
Shifts getMostShifts(step::LoopOp loop);

/// Returns the bytes of the buffers that pipelining with `shifts` duplicates.
int64_t getPipelineBytes(step::LoopOp loop, Shifts shifts);

/// Pipelines `loop` with these shifts, and replaces it by the resulting steps.
void pipeline(step::LoopOp loop, Shifts shifts);

} // namespace tp::schedule

#endif // TPOPT_PASSES_SCHEDULE_SOFTWAREPIPELINE_H
