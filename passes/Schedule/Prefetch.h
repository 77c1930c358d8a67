// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Loops whose iterations receive what the next iteration needs.
///
/// A collective of a loop that sends what the loop never writes, weights of a
/// layer, could travel in the iteration before. With a second buffer to receive
/// in, a loop of seven iterations becomes
///
///     step.loop 7 {                  gather w[0] to a
///       gather w[i] to a             step.loop 3 {
///       compute with a                 compute with a; gather w[2i+1] to b
///     }                                compute with b; gather w[2i+2] to a
///                                    }
///                                    compute with a
///
/// Nothing more is sent, and each iteration computes what it did. Within the
/// new iterations the scheduler places starts and waits.

#ifndef TPOPT_PASSES_SCHEDULE_PREFETCH_H
#define TPOPT_PASSES_SCHEDULE_PREFETCH_H

#include "tpopt/Dialect/Step/Step.h"

namespace tp::schedule {

/// How many collectives of `loop` could travel an iteration ahead.
unsigned countPrefetches(step::LoopOp loop);

/// The bytes of the buffers that there are twice if the `count` of them do that
/// an iteration needs first.
int64_t getPrefetchBytes(step::LoopOp loop, unsigned count);

/// Lets these travel an iteration ahead. The loop becomes other steps.
void prefetch(step::LoopOp loop, unsigned count);

} // namespace tp::schedule

#endif // TPOPT_PASSES_SCHEDULE_PREFETCH_H
