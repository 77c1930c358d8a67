// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Gathers of the stacked weights of all layers, made one by one.
///
/// A loop that takes one layer of a stack in each iteration can gather that
/// layer itself, straight to where it belongs:
///
///     gather w[0:7] to a             step.loop 7 {
///     copy a to s                      gather w[i] to s[i]
///     step.loop 7 {                    compute with s[i]
///       compute with s[i]            }
///     }
///
/// As many bytes are sent, by more collectives, and what comes behind the loop
/// finds the whole stack, too. Each gather can then travel while the iteration
/// before computes (SoftwarePipeline.h).

#ifndef TPOPT_PASSES_SCHEDULE_STACKEDGATHERS_H
#define TPOPT_PASSES_SCHEDULE_STACKEDGATHERS_H

#include "tpopt/Dialect/Step/Step.h"

namespace tp::schedule {

/// Whether a gather in front of `loop` can be made layer by layer in it.
bool hasStackedGathers(step::LoopOp loop);

/// Makes all that can be so.
void spreadStackedGathers(step::LoopOp loop);

} // namespace tp::schedule

#endif // TPOPT_PASSES_SCHEDULE_STACKEDGATHERS_H
