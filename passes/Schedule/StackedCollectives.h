// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Splits collectives of a stack, such as the weights or gradients of all
/// layers, into one per layer.
///
/// A loop that takes one layer of a stack in each iteration can gather that
/// layer itself, directly into its final location. A loop that computes one
/// layer of a stack in each iteration can sum that layer over the devices
/// itself:
///
///     gather w[0:7] to a             step.loop 7 {
///     copy a to s                      gather w[i] to s[i]
///     step.loop 7 {                    compute with s[i]
///       compute with s[i]              compute g[i]
///       compute g[i]                   scatter g[i] to r[i]
///     }                              }
///     copy g to b
///     scatter b to r[0:7]
///
/// The same number of bytes is sent, by more collectives, and code after the
/// loop still finds the whole stacks. Each collective can then overlap with the
/// computation of another iteration (SoftwarePipeline.h). NCCL adds in an order
/// of its own, so there, an all-reduce of one layer may round differently than
/// an all-reduce of all layers.

#ifndef TPOPT_PASSES_SCHEDULE_STACKEDCOLLECTIVES_H
#define TPOPT_PASSES_SCHEDULE_STACKEDCOLLECTIVES_H

#include "tpopt/Dialect/Step/Step.h"

namespace tp::schedule {

/// Which collectives of stacks are made layer by layer.
struct Spread {
  bool gathers = false, sums = false;
};

/// Returns the kinds of collectives before or after `loop` that can be made
/// layer by layer inside it.
Spread findStacked(step::LoopOp loop);

/// Returns the bytes that the results of the loop's stacked sums hold while the
/// loop runs, if the loop computes them.
int64_t getStackedSumBytes(step::LoopOp loop);

/// Replaces collectives of stacks before or after `loop` by collectives of one
/// layer inside the loop.
void spreadStacked(step::LoopOp loop, Spread spread);

} // namespace tp::schedule

#endif // TPOPT_PASSES_SCHEDULE_STACKEDCOLLECTIVES_H
