// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Software pipelining of the collectives in a loop.
///
/// A collective that sends what the loop never writes, such as a layer's
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
/// The same data is sent, and each iteration computes the same values. The
/// scheduler then places starts and waits within each iteration.

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
