// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Splits gathers of the stacked weights of all layers into one per
/// layer.
///
/// A loop that takes one layer of a stack in each iteration can gather that
/// layer itself, directly into its final location:
///
///     gather w[0:7] to a             step.loop 7 {
///     copy a to s                      gather w[i] to s[i]
///     step.loop 7 {                    compute with s[i]
///       compute with s[i]            }
///     }
///
/// The same number of bytes is sent, by more collectives, and code after the
/// loop still finds the whole stack. Each gather can then overlap with the
/// computation of the previous iteration (SoftwarePipeline.h).

#ifndef TPOPT_PASSES_SCHEDULE_STACKEDGATHERS_H
#define TPOPT_PASSES_SCHEDULE_STACKEDGATHERS_H

#include "tpopt/Dialect/Step/Step.h"

namespace tp::schedule {

/// Returns true if a gather before `loop` can be made layer by layer inside it.
bool hasStackedGathers(step::LoopOp loop);

/// Replaces the gathers of stacked weights before `loop` by gathers of one
/// layer inside the loop.
void spreadStackedGathers(step::LoopOp loop);

} // namespace tp::schedule

#endif // TPOPT_PASSES_SCHEDULE_STACKEDGATHERS_H
